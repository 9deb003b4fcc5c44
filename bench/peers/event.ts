/** A source event as the peers read it: JSON parsed by the platform. */
export interface SourceEvent {
  readonly time?: string;
  readonly level?: string;
  readonly msg?: string;
  readonly message: {
    readonly timestamp?: string;
    readonly actor?:
      | string
      | { readonly id?: string; readonly name?: string; readonly email?: string; readonly type?: string };
    readonly action: number | { readonly code: number; readonly title?: string };
    readonly target?: string | { readonly name?: string };
    readonly result?: {
      readonly title?: string;
      readonly description?: string;
      readonly code?: number;
      readonly detail?: string;
    };
    readonly remote?: { readonly ip?: string; readonly port?: number };
    readonly sender?: { readonly file?: string; readonly hash?: string };
    readonly extra?: Readonly<Record<string, unknown>>;
    readonly flow_id?: string;
  };
}

/** For Fastify's compiled validation. */
export const eventSchema = {
  type: 'object',
  required: ['message'],
  properties: {
    message: { type: 'object', required: ['action'], properties: { extra: { type: 'object' } } },
  },
} as const;

const resultCodeDefault = 200;

/** Values of an event for filters and answers, and the audit event. */
export function readEvent(source: SourceEvent) {
  const { level, msg, message } = source;
  const { actor, action, target, result, remote, sender, extra, flow_id } = message;
  const time = message.timestamp ?? source.time ?? new Date().toISOString();
  const code = typeof action === 'number' ? action : action.code;
  const title = typeof action === 'number' ? undefined : action.title;
  const person = typeof actor === 'string' ? { email: actor } : actor;
  const resultCode = result?.code ?? resultCodeDefault;
  const isFailed = resultCode >= 400;
  const shown = {
    category_name: 'Audit',
    category_uid: 3,
    class_name: 'Application Activity',
    class_uid: 3001,
    type_uid: 300_101,
    time: Date.parse(time) * 1000,
    activity_id: code,
    activity_name: title ?? `Activity ${code}`,
    severity: level === 'ERROR' ? 'High' : level === 'WARN' ? 'Medium' : 'Informational',
    severity_id: level === 'ERROR' ? 4 : level === 'WARN' ? 3 : 1,
    status: isFailed ? 'Failure' : 'Success',
    status_id: isFailed ? 2 : 1,
    status_detail: result?.detail,
    message: msg ?? result?.title,
    actor: {
      user: person && { name: person.name, email_addr: person.email, type: person.type },
      app_name: 'Audit Log Service',
    },
    src_endpoint: remote,
    flow_id,
    enrichments: Object.entries(extra ?? {}).map(([name, value]) => ({
      name,
      value: typeof value === 'string' ? value : JSON.stringify(value),
    })),
    extra_map: extra,
    metadata: { product: { name: 'Audit Log Service', vendor_name: 'Audit Log Service' }, version: '1.1.0' },
  };
  const targetName = typeof target === 'string' ? target : target?.name;
  const lower = (texts: readonly unknown[]): string[] =>
    texts.filter((text) => typeof text === 'string').map((text) => text.toLowerCase());
  return {
    time,
    shown,
    level,
    resultCode,
    actorEmail: person?.email?.toLowerCase(),
    actorId: person && 'id' in person ? person.id?.toLowerCase() : undefined,
    names: lower([sender?.file, targetName]),
    hashes: lower([sender?.hash, extra?.['fileHash']]),
    fileName: sender?.file,
    targetName,
  };
}
