import { activityName, activityTitles } from '../activities.ts';
import { numberOf, type SourceReading, slot } from '../source-fields.ts';
import { type Output, type Range, shared } from './output.ts';
import { clipped, firstText, has, isText, putToken, textIn } from './tokens.ts';

const json = {
  informational: shared.add(',"severity_id":1,"severity":"Informational"'),
  medium: shared.add(',"severity_id":3,"severity":"Medium"'),
  high: shared.add(',"severity_id":4,"severity":"High"'),
  success: shared.add(',"status_id":1,"status":"Success"'),
  failure: shared.add(',"status_id":2,"status":"Failure"'),
  statusCode: shared.add(',"status_code":"'),
  message: shared.add(',"message":"'),
  titleEnd: shared.add(': '),
  statusDetail: shared.add(',"status_detail":"'),
};
const titles: ReadonlyMap<number, Range> = new Map(
  [...activityTitles].map(([code, title]) => [code, shared.add(title)]),
);

const failureCodeMin = 400;

export function putActivityName(out: Output, r: SourceReading, code: number, all?: 'all'): void {
  const at = slot.actionTitle;
  if (isText(r, at)) {
    if (all === 'all') out.range(r.starts[at] as number, r.ends[at] as number);
    else putToken(out, r, at);
    return;
  }
  const title = titles.get(code);
  if (title === undefined) out.text(activityName(code));
  else out.put(title);
}

export function putOutcome(out: Output, r: SourceReading, code: number): void {
  const level = textIn(r, slot.level);
  out.put(level === 'WARN' ? json.medium : level === 'ERROR' ? json.high : json.informational);
  const hasResult = has(r, slot.resultCode);
  const result = hasResult ? numberOf(r, slot.resultCode) + 0 : 0;
  const isFailure = result >= failureCodeMin;
  out.put(isFailure ? json.failure : json.success);
  if (hasResult) {
    out.put(json.statusCode);
    out.integer(result);
    out.quote();
  }
  out.put(json.message);
  const start = out.length;
  putMessage(out, r, code);
  const end = out.length;
  out.quote();
  // A failure states its reason in the best words available.
  const why = isFailure ? [slot.resultDescription, slot.resultTitle] : [];
  const detail = firstText(r, slot.resultDetail, ...why);
  if (detail < 0 && !isFailure) return;
  out.put(json.statusDetail);
  if (detail < 0) out.range(start, end);
  else putToken(out, r, detail);
  out.quote();
}

function putMessage(out: Output, r: SourceReading, code: number): void {
  const [title, description] = [slot.resultTitle, slot.resultDescription];
  if (isText(r, slot.msg)) return putToken(out, r, slot.msg);
  if (!isText(r, title) || !isText(r, description)) {
    const only = firstText(r, title, description);
    return only < 0 ? putActivityName(out, r, code) : putToken(out, r, only);
  }
  const start = out.length;
  out.range(r.starts[title] as number, r.ends[title] as number);
  out.put(json.titleEnd);
  out.range(r.starts[description] as number, r.ends[description] as number);
  const whole = Buffer.from(out.bytes.buffer, start, out.length - start);
  const short = clipped(whole.toString('latin1'));
  if (short.length === whole.length) return;
  out.length = start;
  out.text(short);
}
