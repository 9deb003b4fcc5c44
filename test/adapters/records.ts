/** Realistic records of other programs with invented names; each function takes the varying members. */

type Members = Readonly<Record<string, unknown>>;

const zoe = 'zoe@acme.example';
const bob = 'bob@acme.example';
const ip = '198.51.100.7';

const oktaUser = (address: string, name: string): Members => ({
  id: `00u${name}`,
  type: 'User',
  alternateId: address,
  displayName: name,
});
const oktaZoe = oktaUser(zoe, 'Zoe Hill');
const oktaBob = oktaUser(bob, 'Bob Reed');

/** `zoe`, `bob`, or a thing by its type and name. */
function oktaTarget(target: string): Members {
  if (target === 'zoe') return oktaZoe;
  if (target === 'bob') return oktaBob;
  const [type = '', ...words] = target.split(' ');
  const name = words.join(' ');
  return { id: `id-${name}`, type, alternateId: 'unknown', displayName: name };
}

export function okta(eventType: string, target: readonly string[] | null, more: Members = {}): Members {
  return {
    actor: oktaZoe,
    client: { ipAddress: ip },
    eventType,
    displayMessage: eventType,
    outcome: { result: 'SUCCESS', reason: null },
    published: '2026-03-01T10:00:00.123Z',
    severity: 'INFO',
    target: target?.map(oktaTarget) ?? null,
    transaction: { id: 'Zx1', type: 'WEB' },
    uuid: '6f1f0f9a-598c-11ef-8478-2b7584bf8d5a',
    version: '0',
    ...more,
  };
}

export function github(action: string, more: Members = {}): Members {
  return {
    '@timestamp': 1_772_359_200_123,
    action,
    actor: 'zoe-hill',
    actor_id: 4711,
    actor_ip: ip,
    org: 'acme',
    org_id: 8,
    external_identity_nameid: zoe,
    ...more,
  };
}

const awsUser: Members = {
  type: 'IAMUser',
  arn: 'arn:aws:iam::111122223333:user/zoe',
  principalId: 'AIDAEXAMPLE',
  accountId: '111122223333',
  userName: 'zoe',
};

/** A person with a role, in a session. */
function awsSession(role: string, session: string, more: Members = {}): Members {
  return {
    type: 'AssumedRole',
    arn: `arn:aws:sts::111122223333:assumed-role/${role}/${session}`,
    principalId: `AROAEXAMPLE:${session}`,
    sessionContext: {
      sessionIssuer: { type: 'Role', arn: `arn:aws:iam::111122223333:role/${role}`, userName: role },
      ...more,
    },
  };
}

/** `session`: a person with a role, instead of the user. */
export function aws(
  eventName: string,
  requestParameters: Members | null,
  { session, ...more }: Members & { session?: readonly [role: string, name: string, more?: Members] } = {},
): Members {
  return {
    eventVersion: '1.09',
    userIdentity: session === undefined ? awsUser : awsSession(...session),
    eventTime: '2026-03-01T10:00:00Z',
    eventSource: 'iam.amazonaws.com',
    eventName,
    sourceIPAddress: ip,
    requestParameters,
    responseElements: null,
    ...more,
  };
}

export function kubernetes(verb: string, objectRef: Members, more: Members = {}): Members {
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    auditID: '4d2a3b0e-7a3f-4b6e-9a44-9c2f7f2a1c55',
    stage: 'ResponseComplete',
    requestURI: '/api',
    verb,
    user: { username: zoe, uid: 'k1' },
    sourceIPs: [ip],
    objectRef,
    responseStatus: { code: 200 },
    requestReceivedTimestamp: '2026-03-01T10:00:00.123456Z',
    ...more,
  };
}
