import { dateTimeText } from './rows.ts';

/** A change of control data that belongs into the audit events of its organization (contract: Sessions). */
export interface Change {
  /** UUID */
  readonly organizationId: string;
  /** A code of the registry of activities. */
  readonly code: ChangeCode;
  readonly target: {
    readonly id: string;
    readonly name: string;
    readonly type: 'organization' | 'user' | 'api_key';
  };
  readonly msg: string;
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** Codes of the registry of activities (contract: Activities); a test holds them against it. */
export const changeCodes = {
  userCreated: 1000,
  userDisabled: 1006,
  passwordChanged: 1010,
  apiKeyCreated: 1300,
  apiKeyRevoked: 1302,
  apiKeyRotated: 1303,
  organizationCreated: 5010,
  organizationUpdated: 5011,
} as const;

type ChangeCode = (typeof changeCodes)[keyof typeof changeCodes];

/** The source event of a change, made by an operator who is not a user of the organization. */
export function sourceEventOfChange(change: Change, operator: string, nowMicros: number): object {
  const time = `${dateTimeText(nowMicros).replace(' ', 'T')}Z`;
  return {
    time,
    level: 'INFO',
    msg: change.msg,
    message: {
      timestamp: time,
      actor: { name: operator, type: 'App/System' },
      action: change.code,
      target: change.target,
      result: { title: 'OK', code: 200 },
      ...(change.extra !== undefined && { extra: change.extra }),
      org: change.organizationId,
    },
  };
}
