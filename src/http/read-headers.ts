import type { PageRequest } from '../read/filter.ts';
import type { PageBody } from '../read/page.ts';
import type { QueryParameters } from '../read/parameters.ts';
import type { RequestContext } from './request-context.ts';
import type { ReplyHeaders } from './response.ts';

const ignoredNameBytesMax = 100;
const ignoredNamesBytesMax = 1_000;
/** Of the header `Link`. Node's clients accept 16 KiB of headers in all. */
const linksBytesMax = 6_000;

/** Names ignored parameters (contract: Read parameters), percent-encoded and bounded, without values. */
export function ignoredParameters(parameters: QueryParameters): ReplyHeaders {
  // A value without a name cannot be reported.
  const names = parameters.ignored().filter((name) => name !== '');
  if (names.length === 0) return {};
  const shown: string[] = [];
  let bytes = 0;
  for (const name of names) {
    const encoded = encodeURIComponent(name)
      .slice(0, ignoredNameBytesMax)
      .replace(/%[0-9A-F]?$/, '');
    bytes += encoded.length + separator.length;
    if (bytes > ignoredNamesBytesMax) break;
    shown.push(encoded);
  }
  return { 'Ignored-Parameters': shown.join(separator) };
}

const separator = ', ';

/**
 * RFC 8288. A search that ended early has no last page and continues after its last match. Links beyond the bound are left out;
 * the next page comes first.
 */
export function pageLinks(
  { head, query }: Pick<RequestContext, 'head' | 'query'>,
  { limit, offset }: Pick<PageRequest, 'limit' | 'offset'>,
  { total, searchedBackTo }: Pick<PageBody, 'total' | 'searchedBackTo'>,
): ReplyHeaders {
  const links: string[] = [];
  let bytes = 0;
  const add = (relation: string, to: number, endTime?: string): void => {
    const parameters = new URLSearchParams(query);
    parameters.set('offset', String(to));
    if (endTime !== undefined) parameters.set('endTime', endTime);
    const link = `<${head.path}?${parameters.toString()}>; rel="${relation}"`;
    bytes += link.length + separator.length;
    if (bytes <= linksBytesMax) links.push(link);
  };
  const next = offset + limit;
  if (next < total) add('next', next);
  // A search shorter than the one before continues after the rows already returned.
  else if (searchedBackTo !== undefined) add('next', Math.max(0, offset - total), searchedBackTo);
  if (offset > 0) add('prev', Math.max(0, offset - limit));
  add('first', 0);
  // Pages are counted from the start of this one.
  const begun = offset % limit;
  if (searchedBackTo === undefined)
    add('last', Math.max(0, begun + limit * Math.floor((total - 1 - begun) / limit)));
  return links.length === 0 ? {} : { Link: links.join(separator) };
}
