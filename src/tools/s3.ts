import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import { Problem } from '../base/errors/problem.ts';
import type { Environment } from './context.ts';
import { type OptionRow, httpAddress, wrong } from './option.ts';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface S3Location {
  readonly bucket: string;
  readonly prefix: string;
}

export interface S3Access extends S3Location {
  /** Address of an S3-compatible service; undefined for AWS. */
  readonly endpoint: URL | undefined;
  readonly region: string;
  readonly credentials: S3Credentials;
}

export const defaultS3Region = 'us-east-1';

/** The URL of an object; its name follows the prefix. */
export function objectUrl({ bucket, prefix, endpoint, region }: S3Access, name: string): URL {
  const path = `${prefix}${name}`.split('/').map(encodeURIComponent).join('/');
  // A bucket with a dot has no certificate as a host, and other services seldom have host names for buckets.
  if (endpoint !== undefined) return new URL(`${endpoint.href.replace(/\/$/, '')}/${bucket}/${path}`);
  if (bucket.includes('.')) return new URL(`https://s3.${region}.amazonaws.com/${bucket}/${path}`);
  return new URL(`https://${bucket}.s3.${region}.amazonaws.com/${path}`);
}

/** The signature covers the body. */
export function signed(
  { region, credentials }: S3Access,
  method: 'GET' | 'PUT',
  url: URL,
  body: Uint8Array,
  contentType?: string,
): ReturnType<AwsV4Signer['sign']> {
  const headers = {
    ...(contentType !== undefined && { 'content-type': contentType }),
    'x-amz-content-sha256': createHash('sha256').update(body).digest('hex'),
  };
  return new AwsV4Signer({ method, url: url.href, headers, ...credentials, service: 's3', region }).sign();
}

export function s3Location(text: string, name: string): S3Location {
  const [, bucket, path = ''] = /^s3:\/\/([^/?#\0]+)(?:\/([^?#\0]*))?$/.exec(text) ?? [];
  if (bucket === undefined) throw wrong(name, 's3://BUCKET or s3://BUCKET/PREFIX');
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    throw wrong(
      name,
      'the name of a bucket has 3 to 63 characters: lower-case letters, digits, dots and hyphens, ' +
        'with a letter or digit at both ends',
    );
  const prefix = path.replace(/^\/+|\/+$/g, '');
  return { bucket, prefix: prefix === '' ? '' : `${prefix}/` };
}

function s3Region(text: string, name: string): string {
  if (!/^[a-z0-9-]{1,64}$/.test(text)) throw wrong(name, 'a region such as eu-central-1');
  return text;
}

/** AWS credentials, from the variables of its own tools. */
export function s3Credentials(environment: Environment): S3Credentials {
  const { AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '' } = environment;
  if (accessKeyId === '' || secretAccessKey === '')
    throw new Problem('malformed', 's3 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment');
  const sessionToken = environment['AWS_SESSION_TOKEN'] ?? '';
  return { accessKeyId, secretAccessKey, ...(sessionToken !== '' && { sessionToken }) };
}

export interface S3Options {
  readonly s3Endpoint?: URL;
  readonly s3Region?: string;
}

export const s3Rows: readonly OptionRow[] = [
  ['--s3-endpoint <url>', 'address of an S3-compatible service (default: AWS)', httpAddress],
  ['--s3-region <region>', `region of the bucket (default: ${defaultS3Region})`, s3Region],
];
