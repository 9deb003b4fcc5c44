import type { Environment } from '../tools/context.ts';
import { wrong } from '../tools/option.ts';
import { defaultS3Region, s3Credentials, s3Location, type S3Options } from '../tools/s3.ts';
import { LocalPlace } from './local-place.ts';
import type { BackupPlace } from './place.ts';
import { S3Place } from './s3-place.ts';

/** The place that an option names: a directory, or `s3://BUCKET/PREFIX`. */
export function placeOf(
  text: string,
  name: string,
  { s3Endpoint: endpoint, s3Region: region = defaultS3Region }: S3Options,
  environment: Environment,
): BackupPlace {
  if (text.startsWith('s3:'))
    return new S3Place({
      ...s3Location(text, name),
      endpoint,
      region,
      credentials: s3Credentials(environment),
    });
  if (text === '' || text.includes('\0')) throw wrong(name, 'a directory, or s3://BUCKET/PREFIX');
  return new LocalPlace(text);
}
