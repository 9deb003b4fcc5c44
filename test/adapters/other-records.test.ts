import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { AdapterName } from '../../src/adapters/definition.ts';
import { bob, gcp, workspace, zoe } from './records.ts';
import { eventsOf, type Row, table, told } from './told.ts';

/** The sources whose records are small enough to differ from one sample in a few members. */

type Members = Readonly<Record<string, unknown>>;

/** The sample of a source with other members; undefined takes one away. */
function sample(name: AdapterName, list?: string): (more: Members) => Members {
  const text = readFileSync(new URL(`../fixtures/adapters/${name}.json`, import.meta.url), 'utf8');
  const whole = JSON.parse(text) as Members;
  const [first] = (list === undefined ? whole : whole[list]) as readonly Members[];
  return (more) => ({ ...first, ...more });
}

const slack = sample('slack', 'entries');
const slackRow = (action: string, entity: Members | undefined, expected: string): Row => [
  slack({ action, entity }),
  expected,
];
const slackBob = { type: 'user', user: { id: 'U04BOB', name: 'bob', email: bob } };
const slackApp = { type: 'app', app: { id: 'A1', name: 'Notion' } };

table('slack', 'people, apps and files', [
  slackRow('user_login', slackBob, `Authentication: Logon | by ${zoe} | to ${zoe}`),
  slackRow('user_login_failed', slackBob, `Authentication: Logon | by ${zoe} | to ${zoe} | failed 400`),
  slackRow('user_logout', slackBob, `Authentication: Logoff | by ${zoe} | to ${zoe}`),
  slackRow('user_created', slackBob, `Account Change: Create | by ${zoe} | to ${bob}`),
  slackRow('user_deactivated', slackBob, `Account Change: Disable | by ${zoe} | to ${bob}`),
  slackRow(
    'role_change_to_admin',
    slackBob,
    `User Access Management: Assign Privileges | by ${zoe} | to ${bob} | as admin`,
  ),
  slackRow(
    'owner_transferred',
    slackBob,
    `User Access Management: Assign Privileges | by ${zoe} | to ${bob} | as owner`,
  ),
  slackRow(
    'user_session_reset_by_admin',
    slackBob,
    `Authorize Session: Other | by ${zoe} | to ${bob} | as session`,
  ),
  slackRow('app_installed', slackApp, `API Activity: Other | by ${zoe} | of Notion`),
  slackRow('organization_created', undefined, `API Activity: Create | by ${zoe}`),
  slackRow('idp_configuration_added', undefined, `API Activity: Create | by ${zoe}`),
  slackRow('barrier_deleted', undefined, `Entity Management: Delete | by ${zoe} | of Unknown`),
  slackRow(
    'file_downloaded',
    { type: 'file', file: { id: 'F1', name: 'plan.pdf', title: 'Plan' } },
    `File Hosting Activity: Download | by ${zoe} | file plan.pdf`,
  ),
]);

const auth0 = sample('auth0');
const auth0Row = (data: Members, expected: string): Row => [
  { date: '2026-03-01T10:00:00.123Z', ip: '198.51.100.7', user_id: 'auth0|zoe', user_name: zoe, ...data },
  expected,
];
table('auth0', 'sign-ins, and what people do by the Management API', [
  [auth0({}), `Account Change: Create | by ${zoe} | to ${bob}`],
  auth0Row({ type: 's' }, `Authentication: Logon | by ${zoe} | to ${zoe}`),
  auth0Row(
    { type: 'fp', description: 'Wrong email or password.' },
    `Authentication: Logon | by ${zoe} | to ${zoe} | failed 400`,
  ),
  auth0Row({ type: 'pwd_leak' }, `Authentication: Logon | by ${zoe} | to ${zoe} | failed 400`),
  auth0Row({ type: 'slo' }, `Authentication: Logoff | by ${zoe} | to ${zoe}`),
  auth0Row({ type: 'limit_wc' }, `Account Change: Lock | by ${zoe} | to ${zoe} | failed 400`),
  auth0Row({ type: 'scp' }, `Account Change: Password Change | by ${zoe} | to ${zoe}`),
  auth0Row({ type: 'gd_enrollment_complete' }, `Account Change: MFA Factor Enable | by ${zoe} | to ${zoe}`),
  auth0Row({ type: 'gd_auth_failed' }, `Authentication: Other | by ${zoe} | to ${zoe} | failed 400`),
  auth0Row(
    {
      type: 'sapi',
      description: 'Create a role',
      details: { request: { path: '/api/v2/roles' }, response: { statusCode: 200 } },
    },
    `API Activity: Create | by ${zoe} | of /api/v2/roles`,
  ),
  auth0Row(
    { type: 'fapi', description: 'Update tenant settings', details: { response: { statusCode: 403 } } },
    `API Activity: Update | by ${zoe} | failed 403`,
  ),
  auth0Row({ type: 'seccft', client_name: 'ci', user_id: '', user_name: '' }, 'API Activity: Other | by ci'),
]);

const vault = sample('vault');
const request = (operation: string, path: string, mount: string, more: Members = {}): Members => ({
  request: { operation, path, mount_type: mount, remote_address: '198.51.100.7:36776' },
  ...more,
});
const denied = { error: '1 error occurred:\n\t* permission denied\n\n' };
table('vault', 'secrets and sign-ins', [
  [vault({}), `API Activity: Read | by ${zoe} | of secret/data/billing/db`],
  [vault(request('update', 'secret/data/x', 'kv')), `API Activity: Update | by ${zoe} | of secret/data/x`],
  [vault(request('delete', 'secret/data/x', 'kv')), `API Activity: Delete | by ${zoe} | of secret/data/x`],
  [vault(request('list', 'secret/metadata', 'kv')), `API Activity: Read | by ${zoe} | of secret/metadata`],
  [
    vault(request('update', 'pki/issue/web', 'pki', { auth: { token_type: 'default' }, ...denied })),
    'API Activity: Update | by nobody | of pki/issue/web | failed 403',
  ],
  [
    vault(
      request('update', 'auth/userpass/login/zoe', 'userpass', {
        auth: { display_name: 'userpass-zoe', metadata: { username: 'zoe' } },
      }),
    ),
    'Authentication: Logon | by zoe | to zoe',
  ],
  [
    vault(
      request('update', 'auth/userpass/login/zoe', 'userpass', {
        auth: null,
        error: 'invalid username or password',
      }),
    ),
    'Authentication: Logon | by zoe | to zoe | failed 400',
  ],
  [
    vault({
      type: 'kmip-request',
      auth: undefined,
      request: { client_certificate_serial_number: '7931', remote_address: '192.0.2.9:1' },
    }),
    'API Activity: Other | by 7931 | from 192.0.2.9',
  ],
]);

const teleport = sample('teleport');
const teleportRow = (event: string, more: Members, expected: string): Row => [
  teleport({ event, login: undefined, server_id: undefined, server_hostname: undefined, ...more }),
  expected,
];
table('teleport', 'sessions, users and roles', [
  [teleport({}), `API Activity: Other | by ${zoe} | of db-1.acme.example`],
  teleportRow('user.login', { success: true }, `Authentication: Logon | by ${zoe} | to ${zoe}`),
  teleportRow(
    'user.login',
    { success: false, code: 'T1000W', error: 'invalid password' },
    `Authentication: Logon | by ${zoe} | to ${zoe} | failed 400`,
  ),
  teleportRow('user.create', { name: bob }, `Account Change: Create | by ${zoe} | to ${bob}`),
  teleportRow('user.delete', { name: bob }, `Account Change: Delete | by ${zoe} | to ${bob}`),
  teleportRow(
    'lock.created',
    { name: '8888', target: { user: bob } },
    `Account Change: Lock | by ${zoe} | to ${bob}`,
  ),
  teleportRow(
    'lock.created',
    { name: '8888', target: { role: 'ops' } },
    `API Activity: Create | by ${zoe} | of 8888`,
  ),
  teleportRow('role.created', { name: 'ops' }, `Entity Management: Create | by ${zoe} | of ops`),
  teleportRow('saml.created', { name: 'okta' }, `API Activity: Create | by ${zoe} | of okta`),
  teleportRow(
    'auth',
    {
      success: false,
      code: 'T3007W',
      error: 'ssh: principal not in the set',
      'addr.remote': '[2001:db8::7]:65123',
    },
    `API Activity: Other | by ${zoe} | from 2001:db8::7 | failed 400`,
  ),
]);

const snowflake = sample('snowflake');
const query = (type: string, text: string, more: Members = {}): Members => ({
  START_TIME: '2026-03-01 10:00:00.061 -0700',
  QUERY_TYPE: type,
  QUERY_TEXT: text,
  USER_NAME: zoe,
  ROLE_NAME: 'ACCOUNTADMIN',
  DATABASE_NAME: 'BILLING',
  EXECUTION_STATUS: 'SUCCESS',
  ...more,
});
const grant = {
  CREATED_ON: '2026-03-01 10:00:00.822 -0700',
  ROLE: 'ACCOUNTADMIN',
  GRANTED_TO: 'USER',
  GRANTEE_NAME: 'BOB',
  GRANTED_BY: 'SECURITYADMIN',
};
table('snowflake', 'sign-ins, queries and grants', [
  [snowflake({}), 'Authentication: Logon | by ZOE@ACME.EXAMPLE | to ZOE@ACME.EXAMPLE | failed 400'],
  [snowflake({ IS_SUCCESS: 'YES' }), 'Authentication: Logon | by ZOE@ACME.EXAMPLE | to ZOE@ACME.EXAMPLE'],
  [query('SELECT', 'select 1'), `API Activity: Read | by ${zoe} | of BILLING`],
  [
    query('INSERT', 'insert …', { EXECUTION_STATUS: 'FAIL' }),
    `API Activity: Create | by ${zoe} | of BILLING | failed 400`,
  ],
  [query('DROP_TABLE', 'drop table x'), `API Activity: Delete | by ${zoe} | of BILLING`],
  [query('CREATE_USER', "CREATE USER BOB\nPASSWORD = '☺☺☺'"), `Account Change: Create | by ${zoe} | to BOB`],
  [query('ALTER_USER', 'ALTER USER BOB SET DISABLED=FALSE;'), `Account Change: Other | by ${zoe} | to BOB`],
  [
    query('DROP_USER', 'drop user if exists BOB', { DATABASE_NAME: undefined }),
    `Account Change: Delete | by ${zoe} | to Unknown`,
  ],
  [query('GET_FILES', "GET '@~/x' 'file:///'"), `File Hosting Activity: Download | by ${zoe} | file BILLING`],
  [grant, 'User Access Management: Assign Privileges | by SECURITYADMIN | to BOB | as ACCOUNTADMIN'],
  [
    { ...grant, DELETED_ON: '2026-03-02 10:00:00.822 -0700' },
    'User Access Management: Revoke Privileges | by SECURITYADMIN | to BOB | as ACCOUNTADMIN',
  ],
]);

const salesforce = sample('salesforce', 'records');
const trail = (Action: string): Members => ({
  attributes: { type: 'SetupAuditTrail' },
  Action,
  CreatedDate: '2026-03-01T10:00:00.000+0000',
  CreatedById: '0055j0ZOE',
  CreatedBy: { Username: zoe },
  Section: 'Manage Users',
  Display: 'Created new user Bob Reed',
});
table('salesforce', 'sign-ins and the setup trail', [
  [salesforce({}), `Authentication: Logon | by ${zoe} | to ${zoe} | failed 400`],
  [salesforce({ Status: 'Success' }), `Authentication: Logon | by ${zoe} | to ${zoe}`],
  [
    salesforce({ attributes: { type: 'LogoutEvent' }, LoginType: undefined, Status: undefined }),
    `Authentication: Logoff | by ${zoe} | to ${zoe}`,
  ],
  // The trail names whom it was done to in a sentence alone.
  [trail('createduser'), `Account Change: Create | by ${zoe} | to Unknown`],
  [trail('PermSetAssign'), `User Access Management: Assign Privileges | by ${zoe} | to Unknown | as role`],
  [trail('insertConnectedApplication'), `API Activity: Create | by ${zoe}`],
  [
    {
      EVENT_TYPE: 'Login',
      TIMESTAMP_DERIVED: '2026-03-01T10:00:00.569Z',
      USER_NAME: zoe,
      SOURCE_IP: '198.51.100.7',
      LOGIN_STATUS: 'LOGIN_NO_ERROR',
    },
    `Authentication: Logon | by ${zoe} | to ${zoe}`,
  ],
]);

const databricks = sample('databricks');
const databricksRow = (
  actionName: string,
  requestParams: Members | null,
  expected: string,
  statusCode = 200,
): Row => [databricks({ actionName, requestParams, response: { statusCode } }), expected];
const toBob = { targetUserName: bob };
table('databricks', 'accounts, groups and data', [
  [databricks({}), `Group Management: Add User | by ${zoe} | to ${bob} | group developers`],
  databricksRow(
    'removePrincipalFromGroup',
    { targetUserName: bob, targetGroupName: 'developers' },
    `Group Management: Remove User | by ${zoe} | to ${bob} | group developers`,
  ),
  databricksRow('login', null, `Authentication: Logon | by ${zoe} | to ${zoe}`),
  databricksRow('samlLogin', null, `Authentication: Logon | by ${zoe} | to ${zoe} | failed 401`, 401),
  databricksRow('createUser', toBob, `Account Change: Create | by ${zoe} | to ${bob}`),
  databricksRow('delete', toBob, `Account Change: Delete | by ${zoe} | to ${bob}`),
  databricksRow('mfaAddKey', null, `Account Change: MFA Factor Enable | by ${zoe} | to ${zoe}`),
  databricksRow(
    'setAccountAdmin',
    toBob,
    `User Access Management: Assign Privileges | by ${zoe} | to ${bob} | as admin`,
  ),
  databricksRow(
    'modifyUserRole',
    { ...toBob, role: 'billing' },
    `User Access Management: Assign Privileges | by ${zoe} | to ${bob} | as billing`,
  ),
  databricksRow(
    'createGroup',
    { targetGroupName: 'ops' },
    `Group Management: Create | by ${zoe} | to ${zoe} | group ops`,
  ),
  databricksRow('revokeDbToken', { tokenId: 'd1' }, `API Activity: Delete | by ${zoe} | of d1`),
  databricksRow(
    'updateAccountSettings',
    { setting: 'region' },
    `API Activity: Update | by ${zoe} | of region`,
  ),
  [
    databricks({
      serviceName: 'unityCatalog',
      actionName: 'getTable',
      requestParams: { full_name_arg: 'a.b.c' },
      response: { statusCode: 403 },
    }),
    `API Activity: Read | by ${zoe} | of a.b.c | failed 403`,
  ],
]);

const postgresql = sample('postgresql');
const pgaudit = (rest: string): Members => postgresql({ message: `AUDIT: SESSION,1,1,${rest},<not logged>` });
const cloudNative = (audit: Members): Members => ({
  level: 'info',
  ts: '2026-03-01T10:00:00.798611652Z',
  logger: 'pgaudit',
  record: {
    log_time: '2026-03-01 10:00:00.798 UTC',
    user_name: 'zoe',
    database_name: 'billing',
    connection_from: '198.51.100.7:52001',
    error_severity: 'LOG',
    audit: { audit_type: 'SESSION', statement_id: '1', class: 'ROLE', ...audit },
  },
});
table('postgresql', 'statements, roles and sign-ins', [
  [postgresql({}), 'API Activity: Read | by zoe | of public.customers'],
  [
    pgaudit('WRITE,INSERT,TABLE,public.orders,insert into orders values (1)'),
    'API Activity: Create | by zoe | of public.orders',
  ],
  [
    pgaudit('DDL,DROP TABLE,TABLE,public.orders,drop table orders'),
    'API Activity: Delete | by zoe | of public.orders',
  ],
  [
    pgaudit('DDL,ALTER TABLE,TABLE,public.orders,"alter table orders add a int, add b int"'),
    'API Activity: Update | by zoe | of public.orders',
  ],
  [pgaudit('READ,SELECT,,,select 1'), 'API Activity: Read | by zoe | of billing'],
  [pgaudit('ROLE,CREATE ROLE,,,create role bob login'), 'Account Change: Create | by zoe | to bob'],
  [pgaudit('ROLE,DROP ROLE,,,"drop role ""bob"""'), 'Account Change: Delete | by zoe | to bob'],
  [
    cloudNative({ command: 'ALTER ROLE', statement: 'ALTER ROLE bob NOLOGIN;' }),
    'Account Change: Other | by zoe | to bob',
  ],
  [
    cloudNative({
      class: 'WRITE',
      command: 'DELETE',
      object_type: 'TABLE',
      object_name: 'public.t',
      statement: 'delete',
    }),
    'API Activity: Delete | by zoe | of public.t',
  ],
  [
    postgresql({ message: 'connection authorized: user=zoe database=billing' }),
    'Authentication: Logon | by zoe | to zoe',
  ],
  [
    postgresql({
      message: 'password authentication failed for user "zoe"',
      error_severity: 'FATAL',
      state_code: '28P01',
    }),
    'Authentication: Logon | by zoe | to zoe | failed 400',
  ],
]);

const auditd = sample('auditd');
const auditRow = (type: string, more: Members, expected: string): Row => [
  auditd({ _AUDIT_TYPE_NAME: type, AUDIT_FIELD_CMD: undefined, ...more }),
  expected,
];
const signedIn = {
  AUDIT_FIELD_ACCT: 'zoe',
  AUDIT_FIELD_ADDR: '198.51.100.7',
  AUDIT_FIELD_HOSTNAME: '?',
  _AUDIT_LOGINUID: '4294967295',
  _UID: '0',
};
const onHost = { AUDIT_FIELD_ADDR: '?', AUDIT_FIELD_HOSTNAME: '?', AUDIT_FIELD_ACCT: 'bob' };
table('auditd', 'sign-ins, accounts, commands and calls', [
  [auditd({}), 'API Activity: Other | by 1000 | of cat /etc/shadow'],
  auditRow('USER_LOGIN', signedIn, 'Authentication: Logon | by zoe | to zoe'),
  auditRow(
    'USER_LOGIN',
    { ...signedIn, AUDIT_FIELD_RES: 'failed' },
    'Authentication: Logon | by zoe | to zoe | failed 400',
  ),
  auditRow(
    'USER_LOGOUT',
    { ...signedIn, _AUDIT_LOGINUID: '1000' },
    'Authentication: Logoff | by zoe | to zoe',
  ),
  auditRow('ADD_USER', onHost, 'Account Change: Create | by 1000 | to bob'),
  auditRow('DEL_USER', onHost, 'Account Change: Delete | by 1000 | to bob'),
  auditRow('USER_CHAUTHTOK', onHost, 'Account Change: Password Change | by 1000 | to bob'),
  auditRow('ACCT_LOCK', onHost, 'Account Change: Lock | by 1000 | to bob'),
  auditRow(
    'SYSCALL',
    {
      AUDIT_FIELD_RES: undefined,
      AUDIT_FIELD_EXE: undefined,
      _AUDIT_FIELD_SUCCESS: 'no',
      _EXE: '/usr/bin/cat',
    },
    'API Activity: Other | by 1000 | of /usr/bin/cat | failed 400',
  ),
]);

const entra = sample('entra', 'value');
const graph = (
  activityDisplayName: string,
  targetResources: readonly Members[],
  more: Members = {},
): Members => ({
  activityDateTime: '2026-03-01T10:00:00.1234567Z',
  activityDisplayName,
  category: 'UserManagement',
  loggedByService: 'Core Directory',
  result: 'success',
  initiatedBy: { user: { id: 'u-zoe', userPrincipalName: zoe, ipAddress: '198.51.100.7' }, app: null },
  targetResources,
  ...more,
});
const changedTo = (displayName: string, newValue: string): Members => ({
  modifiedProperties: [{ displayName, oldValue: null, newValue: `"${newValue}"` }],
});
const graphBob = { id: 'u-bob', type: 'User', displayName: 'Bob Reed', userPrincipalName: bob };
table('entra', 'sign-ins and audits by Graph', [
  [entra({}), `Authentication: Logon | by ${zoe} | to ${zoe} | failed 400`],
  [entra({ status: { errorCode: 0 } }), `Authentication: Logon | by ${zoe} | to ${zoe}`],
  [graph('Add user', [graphBob]), `Account Change: Create | by ${zoe} | to ${bob}`],
  [
    graph('Add member to role', [{ ...graphBob, ...changedTo('Role.DisplayName', 'Global Reader') }]),
    `User Access Management: Assign Privileges | by ${zoe} | to ${bob} | as Global Reader`,
  ],
  [
    graph('Add member to group', [
      { ...graphBob, ...changedTo('Group.DisplayName', 'Ops') },
      { id: 'g1', type: 'Group' },
    ]),
    `Group Management: Add User | by ${zoe} | to ${bob} | group Ops`,
  ],
  [
    graph('Delete user', [graphBob], { result: 'failure', initiatedBy: { app: { displayName: 'Sync' } } }),
    `Account Change: Delete | by Sync | to ${bob} | failed 400`,
  ],
]);

test('a policy of Google Cloud that is changed for two people becomes two events, each with its own', () => {
  const deltas = [
    { action: 'ADD', role: 'roles/owner', member: `user:${bob}` },
    { action: 'REMOVE', role: 'roles/viewer', member: 'group:ops@acme.example' },
  ];
  const serviceData = { policyDelta: { bindingDeltas: deltas }, note: [1, 2] };
  const record = gcp('SetIamPolicy', { principalEmail: zoe }, { serviceData });
  const read = eventsOf('gcp', record);
  assert.deepEqual(read.map(told), [
    `User Access Management: Assign Privileges | by ${zoe} | to ${bob} | as roles/owner`,
    `User Access Management: Revoke Privileges | by ${zoe} | to Unknown | as roles/viewer`,
  ]);
  const kept = read.map((one) => one['unmapped'].extra.gcp as typeof record);
  const payload = (record as { protoPayload: object }).protoPayload;
  assert.deepEqual(
    kept,
    deltas.map((delta) => ({
      ...record,
      protoPayload: { ...payload, serviceData: { ...serviceData, policyDelta: { bindingDeltas: [delta] } } },
    })),
  );
});

test('an activity of Workspace with two events becomes two, each with its own', () => {
  const [first, second] = [
    workspace('CREATE_USER', { USER_EMAIL: bob }),
    workspace('ASSIGN_ROLE', { USER_EMAIL: bob, ROLE_NAME: 'Help desk' }),
  ];
  const events = [first, second].flatMap((one) => one['events'] as unknown[]);
  const read = eventsOf('gworkspace', { ...first, events });
  assert.deepEqual(read.map(told), [
    `Account Change: Create | by ${zoe} | to ${bob}`,
    `User Access Management: Assign Privileges | by ${zoe} | to ${bob} | as Help desk`,
  ]);
  const keptOf = (all: typeof read) =>
    all.map((one) => (one['unmapped'].extra.gworkspace as { events: unknown[] }).events);
  assert.deepEqual(keptOf(read).flat(), events);
  const many = eventsOf('gworkspace', { ...first, events: Array.from({ length: 150 }, () => events[0]) });
  assert.deepEqual([many.length, keptOf(many).at(-1)?.length], [100, 51]);
  const large = eventsOf('gworkspace', {
    ...first,
    note: 'x'.repeat(40_000),
    events: [...events, ...events],
  });
  assert.equal(large.length, 2);
});
