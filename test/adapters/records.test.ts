import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  aws,
  awsSession,
  bob,
  github,
  kubernetes,
  line,
  okta,
  oktaBob,
  oktaThing,
  oktaZoe,
  zoe,
} from './records.ts';

import { eventOf, type Row, table, told } from './told.ts';

const group = oktaThing('UserGroup', 'Staff');
const app = oktaThing('AppInstance', 'Payroll');
const failed = { outcome: { result: 'FAILURE', reason: 'INVALID_CREDENTIALS' } };
const granted = (privilegeGranted: string) => ({ debugContext: { debugData: { privilegeGranted } } });
const system = {
  actor: { id: 'sys', type: 'SystemPrincipal', alternateId: 'system@okta.com', displayName: 'Okta System' },
};

table('okta', 'sign-ins and accounts', [
  [
    okta('user.session.start', [oktaThing('AuthenticatorEnrollment', 'Password')]),
    `Authentication: Logon | by ${zoe} | to ${zoe}`,
  ],
  [okta('user.session.start', null, failed), `Authentication: Logon | by ${zoe} | to ${zoe} | failed 400`],
  [okta('user.session.end', null), `Authentication: Logoff | by ${zoe} | to ${zoe}`],
  [
    okta('user.authentication.sso', [app, oktaThing('AppUser', 'zoe')]),
    `Authentication: Logon | by ${zoe} | to ${zoe}`,
  ],
  [
    okta('user.authentication.sso', [app], failed),
    `Authentication: Logon | by ${zoe} | to ${zoe} | failed 400`,
  ],
  [okta('user.authentication.auth_via_mfa', [oktaZoe]), `Authentication: Other | by ${zoe} | to ${zoe}`],
  [
    okta('user.authentication.auth_via_mfa', [oktaZoe], failed),
    `Authentication: Other | by ${zoe} | to ${zoe} | failed 400`,
  ],
  [okta('user.lifecycle.create', [oktaBob]), `Account Change: Create | by ${zoe} | to ${bob}`],
  [
    okta('user.lifecycle.create', [oktaBob], system),
    `Account Change: Create | by system@okta.com | to ${bob}`,
  ],
  [okta('user.lifecycle.activate', [oktaBob]), `Account Change: Enable | by ${zoe} | to ${bob}`],
  [okta('user.lifecycle.reactivate', [oktaBob]), `Account Change: Enable | by ${zoe} | to ${bob}`],
  [okta('user.lifecycle.deactivate', [oktaBob]), `Account Change: Disable | by ${zoe} | to ${bob}`],
  [okta('user.lifecycle.suspend', [oktaBob]), `Account Change: Disable | by ${zoe} | to ${bob}`],
  [okta('user.lifecycle.unsuspend', [oktaBob]), `Account Change: Enable | by ${zoe} | to ${bob}`],
  [okta('user.lifecycle.delete.initiated', [oktaBob]), `Account Change: Delete | by ${zoe} | to ${bob}`],
  [okta('user.lifecycle.delete.initiated', null), `Account Change: Delete | by ${zoe} | to Unknown`],
  // The one who locked the account is the one who could not sign in, as in the published sample.
  [
    okta('user.account.lock', null, { outcome: { result: 'FAILURE', reason: 'LOCKED_OUT' } }),
    `Account Change: Lock | by ${zoe} | to ${zoe}`,
  ],
  [okta('user.account.lock.limit', [oktaZoe]), `Account Change: Lock | by ${zoe} | to ${zoe}`],
  [okta('user.account.unlock_by_admin', [oktaBob]), `Account Change: Other | by ${zoe} | to ${bob}`],
  [okta('user.account.unlock', [oktaZoe]), `Account Change: Other | by ${zoe} | to ${zoe}`],
  [
    okta('user.account.update_password', [oktaBob]),
    `Account Change: Password Change | by ${zoe} | to ${bob}`,
  ],
  [okta('user.account.update_profile', [oktaBob]), `Account Change: Other | by ${zoe} | to ${bob}`],
  [okta('user.account.reset_password', [oktaBob]), `Account Change: Other | by ${zoe} | to ${bob}`],
  [okta('user.mfa.factor.activate', [oktaBob]), `Account Change: MFA Factor Enable | by ${zoe} | to ${bob}`],
  [
    okta('user.mfa.factor.activate', [oktaThing('AuthenticatorEnrollment', 'Phone'), oktaBob]),
    `Account Change: MFA Factor Enable | by ${zoe} | to ${bob}`,
  ],
  [
    okta('user.mfa.factor.deactivate', [oktaBob]),
    `Account Change: MFA Factor Disable | by ${zoe} | to ${bob}`,
  ],
  [
    okta('user.mfa.factor.reset_all', [oktaBob]),
    `Account Change: MFA Factor Disable | by ${zoe} | to ${bob}`,
  ],
  [okta('user.session.clear', [oktaBob]), `Authorize Session: Other | by ${zoe} | to ${bob} | as session`],
]);

const resulting = (result: string, reason: string | null = null) => ({ outcome: { result, reason } });
const signOn = `Authentication: Logon | by ${zoe} | to ${zoe}`;
const factor = `Authentication: Other | by ${zoe} | to ${zoe}`;
const tried = `API Activity: Other | by ${zoe}`;

table('okta', 'outcomes', [
  [okta('user.session.start', null, resulting('ALLOW')), signOn],
  [okta('user.session.start', null, resulting('DENY')), `${signOn} | failed 400`],
  [okta('user.session.start', null, resulting('RATE_LIMIT')), `${signOn} | failed 400`],
  [okta('user.session.start', null, resulting('CHALLENGE')), `${tried} | unknown: CHALLENGE`],
  [okta('user.session.start', null, { outcome: null }), `${tried} | unknown: the record does not say`],
  [okta('user.authentication.sso', [app], resulting('SKIPPED')), `${tried} | of Payroll | unknown: SKIPPED`],
  [okta('user.authentication.auth_via_IDP', [oktaZoe]), signOn],
  [okta('user.authentication.auth_via_IDP', [oktaZoe], failed), `${signOn} | failed 400`],
  [okta('user.authentication.verify', [oktaZoe]), signOn],
  [okta('user.authentication.verify', [oktaZoe], resulting('DENY')), `${signOn} | failed 400`],
  [okta('user.authentication.auth_via_mfa', [oktaZoe], resulting('ABANDONED')), `${factor} | failed 400`],
  [okta('user.authentication.auth_via_mfa', [oktaZoe], resulting('UNANSWERED')), `${factor} | failed 400`],
  [
    okta('user.authentication.auth_via_mfa', [oktaZoe], resulting('DEFERRED')),
    `${tried} | of ${zoe} | unknown: DEFERRED`,
  ],
  // Okta's result is of the answer, which was taken; the factor was refused.
  [okta('user.mfa.okta_verify.deny_push', [oktaZoe]), `${factor} | failed 400`],
  [okta('policy.evaluate_sign_on', [app], resulting('DENY')), `${tried} | of Payroll | failed 400`],
  [okta('system.org.rate_limit.violation', null, resulting('RATE_LIMIT')), `${tried} | failed 400`],
]);

table('okta', 'groups, roles, policies and tokens', [
  [
    okta('group.user_membership.add', [oktaBob, group]),
    `Group Management: Add User | by ${zoe} | to ${bob} | group Staff`,
  ],
  [
    okta('group.user_membership.add', [group, oktaBob]),
    `Group Management: Add User | by ${zoe} | to ${bob} | group Staff`,
  ],
  [
    okta('group.user_membership.remove', [oktaBob, group]),
    `Group Management: Remove User | by ${zoe} | to ${bob} | group Staff`,
  ],
  [
    okta('group.user_membership.add', [oktaBob, group], system),
    `Group Management: Add User | by system@okta.com | to ${bob} | group Staff`,
  ],
  // The class wants a user, and a group that is made has none but who made it.
  [okta('group.lifecycle.create', [group]), `Group Management: Create | by ${zoe} | to ${zoe} | group Staff`],
  [okta('group.lifecycle.delete', [group]), `Group Management: Delete | by ${zoe} | to ${zoe} | group Staff`],
  [okta('group.profile.update', [group]), `Group Management: Other | by ${zoe} | to ${zoe} | group Staff`],
  [
    okta('user.account.privilege.grant', [oktaBob], granted('Organization administrator')),
    `User Access Management: Assign Privileges | by ${zoe} | to ${bob} | as Organization administrator`,
  ],
  [
    okta('user.account.privilege.revoke', [oktaBob], {
      debugContext: { debugData: { privilegeRevoked: 'Help desk' } },
    }),
    `User Access Management: Revoke Privileges | by ${zoe} | to ${bob} | as Help desk`,
  ],
  [
    okta('user.account.privilege.grant', null),
    `User Access Management: Assign Privileges | by ${zoe} | to Unknown | as role`,
  ],
  [
    okta('group.privilege.grant', [group], granted('Help desk')),
    `User Access Management: Assign Privileges | by ${zoe} | to Unknown | as Help desk`,
  ],
  [
    okta('group.privilege.revoke', [group], granted('Help desk')),
    `User Access Management: Revoke Privileges | by ${zoe} | to Unknown | as Help desk`,
  ],
  [
    okta('application.user_membership.add', [oktaThing('AppUser', 'bob'), app, oktaBob]),
    `User Access Management: Assign Privileges | by ${zoe} | to ${bob} | as Payroll`,
  ],
  [
    okta('application.user_membership.remove', [app, oktaBob]),
    `User Access Management: Revoke Privileges | by ${zoe} | to ${bob} | as Payroll`,
  ],
  [
    okta('policy.lifecycle.create', [oktaThing('PolicyEntity', 'MFA for all')]),
    `Entity Management: Create | by ${zoe} | of MFA for all`,
  ],
  [
    okta('policy.lifecycle.update', [oktaThing('PolicyEntity', 'MFA for all')]),
    `Entity Management: Update | by ${zoe} | of MFA for all`,
  ],
  [
    okta('policy.lifecycle.delete', [oktaThing('PolicyEntity', 'MFA for all')]),
    `Entity Management: Delete | by ${zoe} | of MFA for all`,
  ],
  [
    okta('policy.lifecycle.deactivate', [oktaThing('PolicyEntity', 'MFA for all')]),
    `Entity Management: Other | by ${zoe} | of MFA for all`,
  ],
  [
    okta('policy.rule.update', [oktaThing('PolicyRule', 'Catch-all')]),
    `Entity Management: Update | by ${zoe} | of Catch-all`,
  ],
  [okta('system.api_token.create', [oktaThing('Token', 'ci')]), `API Activity: Create | by ${zoe} | of ci`],
  [okta('system.api_token.revoke', [oktaThing('Token', 'ci')]), `API Activity: Delete | by ${zoe} | of ci`],
  [okta('application.lifecycle.update', [app]), `API Activity: Update | by ${zoe} | of Payroll`],
  [okta('application.lifecycle.create', [app]), `API Activity: Create | by ${zoe} | of Payroll`],
  [okta('application.lifecycle.activate', [app]), `API Activity: Other | by ${zoe} | of Payroll`],
  [okta('zone.create', [oktaThing('NetworkZone', 'Office')]), `API Activity: Create | by ${zoe} | of Office`],
  [okta('user.session.access_admin_app', [app]), `API Activity: Other | by ${zoe} | of Payroll`],
  // The published sample is a Detection Finding, a class of what programs find; here it is what somebody tried.
  [
    okta('security.threat.detected', null, {
      actor: { id: '192.0.2.9', type: 'IP address', alternateId: 'unknown', displayName: '192.0.2.9' },
      outcome: { result: 'DENY', reason: 'Login Failures' },
    }),
    'API Activity: Other | by 192.0.2.9 | failed 400',
  ],
]);

const team = { team: 'acme/ops', user: 'bob-reed', user_id: 4712 };

table('github', 'members, accounts and tokens', [
  [github('team.add_member', team), `Group Management: Add User | by ${zoe} | to bob-reed | group acme/ops`],
  [
    github('team.remove_member', team),
    `Group Management: Remove User | by ${zoe} | to bob-reed | group acme/ops`,
  ],
  [
    github('org.add_member', { user: 'bob-reed' }),
    `Group Management: Add User | by ${zoe} | to bob-reed | group acme`,
  ],
  [
    github('org.remove_member', { user: 'bob-reed' }),
    `Group Management: Remove User | by ${zoe} | to bob-reed | group acme`,
  ],
  [
    github('org.update_member', { user: 'bob-reed', permission: 'admin' }),
    `User Access Management: Assign Privileges | by ${zoe} | to bob-reed | as admin`,
  ],
  [
    github('repo.add_member', { user: 'bob-reed', repo: 'acme/core', permission: 'write' }),
    `User Access Management: Assign Privileges | by ${zoe} | to bob-reed | as write`,
  ],
  [
    github('repo.add_member', { user: 'bob-reed', repo: 'acme/core' }),
    `User Access Management: Assign Privileges | by ${zoe} | to bob-reed | as acme/core`,
  ],
  [
    github('repo.remove_member', { user: 'bob-reed', repo: 'acme/core' }),
    `User Access Management: Revoke Privileges | by ${zoe} | to bob-reed | as acme/core`,
  ],
  [github('user.create', { user: 'bob-reed' }), `Account Change: Create | by ${zoe} | to bob-reed`],
  [github('user.suspend', { user: 'bob-reed' }), `Account Change: Disable | by ${zoe} | to bob-reed`],
  [github('user.unsuspend', { user: 'bob-reed' }), `Account Change: Enable | by ${zoe} | to bob-reed`],
  [github('user.destroy', { user: 'bob-reed' }), `Account Change: Delete | by ${zoe} | to bob-reed`],
  [github('user.login', { user: 'zoe-hill' }), `Authentication: Logon | by ${zoe} | to ${zoe}`],
  [
    github('user.failed_login', { user: 'zoe-hill' }),
    `Authentication: Logon | by ${zoe} | to ${zoe} | failed 400`,
  ],
  [github('user.logout'), `Authentication: Logoff | by ${zoe} | to ${zoe}`],
  // An answer of the provider came in; whether it was a good one, GitHub does not say.
  [
    github('business.sso_response', { user: 'zoe-hill' }),
    `API Activity: Other | by ${zoe} | of zoe-hill | unknown: the record does not say`,
  ],
  [
    github('org.sso_response'),
    `API Activity: Other | by ${zoe} | of acme | unknown: the record does not say`,
  ],
  [
    github('two_factor_authentication.enabled'),
    `Account Change: MFA Factor Enable | by ${zoe} | to zoe-hill`,
  ],
  [github('personal_access_token.create'), `API Activity: Create | by ${zoe} | of acme`],
  [github('oauth_access.destroy'), `API Activity: Delete | by ${zoe} | of acme`],
  [github('repo.create', { repo: 'acme/core' }), `API Activity: Create | by ${zoe} | of acme/core`],
  [github('repo.destroy', { repo: 'acme/core' }), `API Activity: Delete | by ${zoe} | of acme/core`],
  [github('repo.access', { repo: 'acme/core' }), `API Activity: Other | by ${zoe} | of acme/core`],
  // The published sample has Entity Management: here organizations are what the API makes, whoever tells of them.
  [github('org.create'), `API Activity: Create | by ${zoe} | of acme`],
  [github('org.create', { team: 'Wiley' }), `API Activity: Create | by ${zoe} | of acme`],
  [github('git.push', { repo: 'acme/core' }), `API Activity: Other | by ${zoe} | of acme/core`],
  [
    github('protected_branch.create', { repo: 'acme/core' }),
    `Entity Management: Create | by ${zoe} | of acme/core`,
  ],
  [
    github('team.create', { team: 'acme/ops' }),
    `Group Management: Create | by ${zoe} | to ${zoe} | group acme/ops`,
  ],
  [github('hook.config_changed', { repo: 'acme/core' }), `API Activity: Update | by ${zoe} | of acme/core`],
  [
    github('workflows.completed_workflow_run', { repo: 'acme/core', actor_ip: undefined }),
    `API Activity: Other | by ${zoe} | of acme/core`,
  ],
]);

const asKept = { team: undefined, org: 'acme', external_identity_nameid: undefined, actor: 'zoe-hill' };
table('github', 'failures, runs, and what the web page exports', [
  [
    github('user.two_factor_challenge_failure', { user: 'zoe-hill' }),
    `Authentication: Other | by ${zoe} | to ${zoe} | failed 400`,
  ],
  [
    github('user.two_factor_challenge_success', { user: 'zoe-hill' }),
    `Authentication: Other | by ${zoe} | to ${zoe}`,
  ],
  [github('org.recovery_code_failed'), `Authentication: Logon | by ${zoe} | to ${zoe} | failed 400`],
  [
    github('protected_branch.rejected_ref_update', { repo: 'acme/core' }),
    `API Activity: Update | by ${zoe} | of acme/core | failed 400`,
  ],
  [
    github('workflows.completed_workflow_run', { repo: 'acme/core', conclusion: 'failure' }),
    `API Activity: Other | by ${zoe} | of acme/core | failed 400`,
  ],
  [
    github('workflows.completed_workflow_run', { repo: 'acme/core', conclusion: 'neutral' }),
    `API Activity: Other | by ${zoe} | of acme/core | unknown: neutral`,
  ],
  [
    github('api.request', { repo: 'acme/core', status_code: 403 }),
    `API Activity: Other | by ${zoe} | of acme/core | failed 403`,
  ],
  [
    github('team.create', { ...asKept, created_at: 1_772_359_200_123, data: { team: 'acme/ops' } }),
    'Group Management: Create | by zoe-hill | to zoe-hill | group acme/ops',
  ],
  [
    github('team.add_member', { ...asKept, user: 'bob-reed', data: { team: 'acme/ops' } }),
    'Group Management: Add User | by zoe-hill | to bob-reed | group acme/ops',
  ],
  [
    github('repo.add_member', {
      ...asKept,
      data: { user: 'bob-reed', repo: 'acme/core', permission: 'write' },
    }),
    'User Access Management: Assign Privileges | by zoe-hill | to bob-reed | as write',
  ],
]);

test('github: a person whose record says "False" of bots is none', () => {
  const typeOf = (actor_is_bot: unknown) =>
    eventOf('github', github('git.push', { actor_is_bot }))['actor'].user?.type;
  assert.deepEqual(['False', false, 'True', true].map(typeOf), ['User', 'User', 'System', 'System']);
  const bot = eventOf('github', github('git.push', { actor: 'dependabot[bot]' }));
  assert.equal(bot['actor'].user?.type, 'System');
});

const sso = awsSession('AWSReservedSSO_Admin_0a1b', zoe);
const login = { eventSource: 'signin.amazonaws.com', eventType: 'AwsConsoleSignIn' };

table('cloudtrail', 'who it was', [
  [aws('CreateUser', { userName: 'bob' }), 'Account Change: Create | by zoe | to bob'],
  [
    aws('CreateUser', { userName: 'bob' }, { userIdentity: sso }),
    `Account Change: Create | by ${zoe} | to bob`,
  ],
  [
    aws('DescribeInstances', null, { userIdentity: awsSession('Deploy', 'ci-7') }),
    'API Activity: Read | by ci-7',
  ],
  [
    aws('ListUsers', null, { userIdentity: awsSession('Deploy', 'ci-7', { sourceIdentity: zoe }) }),
    `API Activity: Read | by ${zoe}`,
  ],
  [
    aws('GetUser', null, { userIdentity: { type: 'Root', arn: 'arn:aws:iam::111122223333:root' } }),
    'API Activity: Read | by Root',
  ],
  [
    aws('ListUsers', null, { userIdentity: { type: 'AWSService', invokedBy: 'ec2.amazonaws.com' } }),
    'API Activity: Read | by ec2.amazonaws.com',
  ],
  [
    aws('ListUsers', null, {
      userIdentity: { type: 'FederatedUser', arn: `arn:aws:sts::1:federated-user/${zoe}` },
    }),
    `API Activity: Read | by ${zoe}`,
  ],
  [
    aws(
      'AssumeRoleWithSAML',
      { roleArn: 'r' },
      { userIdentity: { type: 'SAMLUser', principalId: 'p', userName: zoe } },
    ),
    `API Activity: Other | by ${zoe} | of r`,
  ],
  [
    aws('Authenticate', null, {
      userIdentity: { type: 'IdentityCenterUser', onBehalfOf: { userId: 'u-1' } },
      additionalEventData: { UserName: zoe },
    }),
    `API Activity: Other | by ${zoe}`,
  ],
  // The published sample has Authentication, Other: a challenge is neither a sign-in nor a failed one.
  [
    aws('CredentialChallenge', null, {
      userIdentity: { type: 'IdentityCenterUser', onBehalfOf: { userId: 'u-1' } },
      additionalEventData: { UserName: zoe, CredentialType: 'PASSWORD' },
    }),
    `API Activity: Other | by ${zoe}`,
  ],
  [
    aws('UserAuthentication', null, {
      ...login,
      userIdentity: { type: 'IdentityCenterUser', onBehalfOf: { userId: 'u-1' } },
      additionalEventData: { UserName: zoe },
      serviceEventDetails: { UserAuthentication: 'Success' },
    }),
    `Authentication: Logon | by ${zoe} | to ${zoe}`,
  ],
  [
    aws('ConsoleLogin', null, { ...login, userIdentity: sso, responseElements: { ConsoleLogin: 'Success' } }),
    `Authentication: Logon | by ${zoe} | to ${zoe}`,
  ],
  [
    aws('ConsoleLogin', null, {
      ...login,
      responseElements: { ConsoleLogin: 'Failure' },
      errorMessage: 'Failed authentication',
    }),
    'Authentication: Logon | by zoe | to zoe | failed 400',
  ],
]);

const inCenter = {
  ...login,
  eventType: 'AwsServiceEvent',
  userIdentity: { type: 'IdentityCenterUser', onBehalfOf: { userId: 'u-1' } },
};
const verifying = (CredentialType: string, CredentialVerification: string): object =>
  aws('CredentialVerification', null, {
    ...inCenter,
    additionalEventData: { UserName: zoe, CredentialType },
    serviceEventDetails: { CredentialVerification },
  });
const answering = (name: string, result: string): object =>
  aws(name, null, { ...login, responseElements: { [name]: result } });

table('cloudtrail', 'outcomes', [
  [verifying('PASSWORD', 'Failure'), `Authentication: Logon | by ${zoe} | to ${zoe} | failed 400`],
  // Only the password is right so far: `UserAuthentication` tells of the sign-in.
  [verifying('PASSWORD', 'Success'), `API Activity: Other | by ${zoe}`],
  [verifying('TOTP', 'Failure'), `Authentication: Other | by ${zoe} | to ${zoe} | failed 400`],
  [verifying('TOTP', 'Success'), `Authentication: Other | by ${zoe} | to ${zoe}`],
  [verifying('TOTP', 'Pending'), `API Activity: Other | by ${zoe} | unknown: the record does not say`],
  [
    aws('UserAuthentication', null, {
      ...inCenter,
      additionalEventData: { UserName: zoe },
      serviceEventDetails: { UserAuthentication: 'Failure' },
    }),
    `Authentication: Logon | by ${zoe} | to ${zoe} | failed 400`,
  ],
  [answering('SwitchRole', 'Failure'), 'API Activity: Other | by zoe | failed 400'],
  [answering('SwitchRole', 'Success'), 'API Activity: Other | by zoe'],
  [answering('CheckMfa', 'Failure'), 'API Activity: Other | by zoe | failed 400'],
  [answering('ExternalIdPDirectoryLogin', 'Failure'), 'Authentication: Logon | by zoe | to zoe | failed 400'],
  [answering('ExternalIdPDirectoryLogin', 'Success'), 'Authentication: Logon | by zoe | to zoe'],
  [answering('PasswordRecoveryRequested', 'Failure'), 'API Activity: Other | by zoe | failed 400'],
  [
    aws('ConsoleLogin', null, { ...login, responseElements: null }),
    'API Activity: Other | by zoe | unknown: the record does not say',
  ],
  [
    aws('DeleteVpc', { vpcId: 'vpc-1' }, { responseElements: { _return: false } }),
    'API Activity: Delete | by zoe | of vpc-1 | failed 400',
  ],
  [
    aws(
      'GetObject',
      { bucketName: 'b', key: 'k' },
      { eventSource: 's3.amazonaws.com', errorCode: 'AccessDenied' },
    ),
    'File Hosting Activity: Download | by zoe | file k | failed 400',
  ],
]);

const of = (eventSource: string, more: object = {}) => ({
  eventSource: `${eventSource}.amazonaws.com`,
  ...more,
});
const instances = { items: [{ instanceId: 'i-1' }, { instanceId: 'i-2' }] };

table('cloudtrail', 'targets, by the service that has them', [
  [
    aws('AuthorizeSecurityGroupIngress', { groupId: 'sg-1' }, of('ec2')),
    'API Activity: Create | by zoe | of sg-1',
  ],
  [
    aws('ModifyInstanceAttribute', { instanceId: 'i-1' }, of('ec2')),
    'API Activity: Update | by zoe | of i-1',
  ],
  [
    aws('TerminateInstances', { instancesSet: instances }, of('ec2')),
    'API Activity: Other | by zoe | of i-1, i-2',
  ],
  [
    aws(
      'RunInstances',
      { instancesSet: { items: [{ imageId: 'ami-1' }] } },
      of('ec2', { responseElements: { instancesSet: instances } }),
    ),
    'API Activity: Other | by zoe | of i-1, i-2',
  ],
  [
    aws('GetSecretValue', { secretId: 'billing/db' }, of('secretsmanager')),
    'API Activity: Read | by zoe | of billing/db',
  ],
  [aws('ScheduleKeyDeletion', { keyId: 'k-1' }, of('kms')), 'API Activity: Other | by zoe | of k-1'],
  [
    aws('UpdateFunctionCode20150331v2', { functionName: 'bill' }, of('lambda')),
    'API Activity: Update | by zoe | of bill',
  ],
  [
    aws('DeleteDBInstance', { dBInstanceIdentifier: 'db-1' }, of('rds')),
    'API Activity: Delete | by zoe | of db-1',
  ],
  // The same names in other services are other things.
  [aws('DeleteGroup', { groupName: 'g' }, of('resource-groups')), 'API Activity: Delete | by zoe | of g'],
  [aws('CreateUser', { userName: 'bob' }, of('transfer')), 'API Activity: Create | by zoe | of bob'],
  [aws('CreatePolicy', { name: 'p' }, of('organizations')), 'API Activity: Create | by zoe | of p'],
]);

test('cloudtrail: an activity is named by its service, too', () => {
  const { api } = eventOf('cloudtrail', aws('CreateUser', { userName: 'bob' }, of('transfer')));
  assert.equal(api.operation, 'transfer:CreateUser');
});

table('cloudtrail', 'what was done to whom', [
  // The published sample calls this "Attach Policy" of an account; a group with its member says more.
  [
    aws('AddUserToGroup', { groupName: 'Ops', userName: 'bob' }),
    'Group Management: Add User | by zoe | to bob | group Ops',
  ],
  [
    aws('RemoveUserFromGroup', { groupName: 'Ops', userName: 'bob' }),
    'Group Management: Remove User | by zoe | to bob | group Ops',
  ],
  [
    aws(
      'AddMemberToGroup',
      { groupId: 'g-1', member: { memberId: 'u-2' } },
      { eventSource: 'sso-directory.amazonaws.com' },
    ),
    'Group Management: Add User | by zoe | to u-2 | group g-1',
  ],
  [
    aws(
      'CreateGroupMembership',
      { groupId: 'g-1', memberId: { userId: 'u-2' } },
      { eventSource: 'identitystore.amazonaws.com' },
    ),
    'Group Management: Add User | by zoe | to u-2 | group g-1',
  ],
  [
    aws('AttachUserPolicy', { userName: 'bob', policyArn: 'arn:aws:iam::aws:policy/ReadOnly' }),
    'User Access Management: Assign Privileges | by zoe | to bob | as arn:aws:iam::aws:policy/ReadOnly',
  ],
  [
    aws('DetachUserPolicy', { userName: 'bob', policyArn: 'arn:aws:iam::aws:policy/ReadOnly' }),
    'User Access Management: Revoke Privileges | by zoe | to bob | as arn:aws:iam::aws:policy/ReadOnly',
  ],
  [
    aws('PutUserPolicy', { userName: 'bob', policyName: 'inline' }),
    'User Access Management: Assign Privileges | by zoe | to bob | as inline',
  ],
  [aws('DeleteUser', { userName: 'bob' }), 'Account Change: Delete | by zoe | to bob'],
  [
    aws('DeleteUser', { userName: 'bob' }, { errorCode: 'AccessDenied' }),
    'Account Change: Delete | by zoe | to bob | failed 400',
  ],
  [
    aws('DeleteUser', null, { errorCode: 'AccessDenied' }),
    'Account Change: Delete | by zoe | to Unknown | failed 400',
  ],
  [aws('ChangePassword', null), 'Account Change: Password Change | by zoe | to zoe'],
  [aws('UpdateLoginProfile', { userName: 'bob' }), 'Account Change: Password Reset | by zoe | to bob'],
  [
    aws('DeactivateMFADevice', { userName: 'bob', serialNumber: 's' }),
    'Account Change: MFA Factor Disable | by zoe | to bob',
  ],
  [aws('CreateAccessKey', { userName: 'bob' }), 'API Activity: Create | by zoe | of bob'],
  [aws('CreatePolicy', { policyName: 'p1' }), 'Entity Management: Create | by zoe | of p1'],
  [aws('DeletePolicy', { policyName: 'p1' }), 'Entity Management: Delete | by zoe | of p1'],
  [aws('CreateGroup', { groupName: 'Ops' }), 'Group Management: Create | by zoe | to zoe | group Ops'],
  [aws('CreateRole', { roleName: 'Deploy' }), 'API Activity: Create | by zoe | of Deploy'],
  [
    aws('PutBucketPolicy', { bucketName: 'b' }, { eventSource: 's3.amazonaws.com' }),
    'API Activity: Update | by zoe | of b',
  ],
  [
    aws('PutObject', { bucketName: 'b', key: 'k' }, { eventSource: 's3.amazonaws.com' }),
    'File Hosting Activity: Upload | by zoe | file k',
  ],
  [
    aws('GetObject', { bucketName: 'b', key: 'k' }, { eventSource: 's3.amazonaws.com' }),
    'File Hosting Activity: Download | by zoe | file k',
  ],
  [aws('ListBuckets', null, { eventSource: 's3.amazonaws.com' }), 'API Activity: Read | by zoe'],
  [aws('LookupEvents', null), 'API Activity: Read | by zoe'],
  [aws('TerminateInstances', null), 'API Activity: Other | by zoe'],
  [aws('ModifyInstanceAttribute', null), 'API Activity: Update | by zoe'],
  [aws('StopLogging', { name: 'trail' }), 'API Activity: Other | by zoe | of trail'],
  [
    aws('DeleteTrail', { name: 'trail' }, { sourceIPAddress: 'cloudformation.amazonaws.com' }),
    'API Activity: Delete | by zoe | of trail | from cloudformation.amazonaws.com',
  ],
]);

const pods = { resource: 'pods', namespace: 'prod', name: 'web-1' };
const forbidden = { responseStatus: { code: 403, reason: 'Forbidden' } };

table('kubernetes', 'verbs, subresources and who stood for whom', [
  [
    kubernetes('get', { resource: 'secrets', namespace: 'prod', name: 'db' }),
    `API Activity: Read | by ${zoe} | of prod/db`,
  ],
  [
    kubernetes('list', { resource: 'secrets', namespace: 'prod' }),
    `API Activity: Read | by ${zoe} | of /api`,
  ],
  [kubernetes('create', { resource: 'nodes', name: 'ip-10' }), `API Activity: Create | by ${zoe} | of ip-10`],
  [kubernetes('watch', pods), `API Activity: Read | by ${zoe} | of prod/web-1`],
  [kubernetes('create', pods), `API Activity: Create | by ${zoe} | of prod/web-1`],
  [kubernetes('update', pods), `API Activity: Update | by ${zoe} | of prod/web-1`],
  [kubernetes('patch', pods), `API Activity: Update | by ${zoe} | of prod/web-1`],
  [kubernetes('delete', pods, forbidden), `API Activity: Delete | by ${zoe} | of prod/web-1 | failed 403`],
  [
    kubernetes('deletecollection', { resource: 'pods', namespace: 'prod' }),
    `API Activity: Delete | by ${zoe} | of /api`,
  ],
  [kubernetes('create', { ...pods, subresource: 'exec' }), `API Activity: Other | by ${zoe} | of prod/web-1`],
  [kubernetes('get', { ...pods, subresource: 'exec' }), `API Activity: Other | by ${zoe} | of prod/web-1`],
  [kubernetes('get', { ...pods, subresource: 'log' }), `API Activity: Read | by ${zoe} | of prod/web-1`],
  [
    kubernetes('get', pods, { user: { username: `arn:aws:sts::1:assumed-role/Admin/${zoe}` } }),
    `API Activity: Read | by ${zoe} | of prod/web-1`,
  ],
  [
    kubernetes('get', pods, { user: { username: 'system:serviceaccount:prod:web' } }),
    'API Activity: Read | by system:serviceaccount:prod:web | of prod/web-1',
  ],
  [
    kubernetes('get', pods, { impersonatedUser: { username: 'system:admin' } }),
    `API Activity: Read | by ${zoe} | of prod/web-1`,
  ],
  [
    kubernetes('get', pods, {
      responseStatus: undefined,
      annotations: { 'authorization.k8s.io/decision': 'forbid' },
    }),
    `API Activity: Read | by ${zoe} | of prod/web-1 | failed 403`,
  ],
]);

table('kubernetes', 'outcomes', [
  [
    kubernetes('get', pods, { responseStatus: undefined, stage: 'RequestReceived' }),
    `API Activity: Read | by ${zoe} | of prod/web-1 | unknown: at the stage RequestReceived`,
  ],
  [
    kubernetes('get', pods, { responseStatus: undefined, stage: 'Panic' }),
    `API Activity: Read | by ${zoe} | of prod/web-1 | failed 400`,
  ],
  [
    kubernetes('get', pods, { responseStatus: { status: 'Failure', reason: 'Timeout' } }),
    `API Activity: Read | by ${zoe} | of prod/web-1 | failed 400`,
  ],
]);

test('kubernetes: what secrets hold is stored in no form', () => {
  const hidden = ['aHVudGVyMg==', 'hunter2', 'S2VlcA=='];
  const last = { 'kubectl.kubernetes.io/last-applied-configuration': `{"data":{"a":"${hidden[0]}"}}` };
  const secret = {
    kind: 'Secret',
    metadata: { name: 'db', annotations: { ...last, note: 'kept' } },
    data: { user: hidden[0], deep: { n: 1 } },
    stringData: { user: hidden[1] },
    type: 'Opaque',
  };
  const ref = { resource: 'secrets', namespace: 'prod', name: 'db', apiVersion: 'v1' };
  for (const more of [
    { requestObject: secret, responseObject: { ...secret, data: [hidden[2]] } },
    { responseObject: { kind: 'SecretList', items: [secret, secret] } },
    { requestObject: [{ op: 'replace', path: '/data/user', value: hidden[0] }] },
  ]) {
    const event = eventOf('kubernetes', kubernetes('update', ref, more));
    assert.equal(event['entity']?.name ?? event['resources']?.[0]?.name, 'prod/db');
    const text = JSON.stringify(event);
    for (const one of hidden) assert.ok(!text.includes(one), `${one} in ${text}`);
    assert.ok(text.includes('[redacted]') && text.includes('auditID'));
  }
  const map = { kind: 'ConfigMap', data: { color: 'blue' } };
  const kept = eventOf(
    'kubernetes',
    kubernetes('update', { resource: 'configmaps', name: 'c' }, { requestObject: map }),
  );
  assert.deepEqual(kept['unmapped'].extra.kubernetes.requestObject, map);
});

test('kubernetes: a command that is run is part of the activity, and who was stood for is the delegate', () => {
  const event = eventOf(
    'kubernetes',
    kubernetes(
      'create',
      { ...pods, subresource: 'exec' },
      { impersonatedUser: { username: 'system:admin' } },
    ),
  );
  assert.equal(event['api'].operation, 'create pods/exec');
  assert.deepEqual(event['unmapped'].actor.delegate, { name: 'system:admin' });
});

const level = (severity: string): string => `severity ${severity}`;

/** Of lines the rest counts as well: time, severity, message and flow. */
function lineTold(name: string, record: object): string {
  const event = eventOf(name, record);
  const { time, severity, message, metadata } = event;
  const at = new Date(time).toISOString();
  const flow = metadata.correlation_uid === undefined ? [] : [`flow ${metadata.correlation_uid}`];
  const said = message === event['api']?.operation ? [] : [`says ${message}`];
  const shown = told(event).replace('API Activity: ', `${event['api']?.operation}: `);
  const when = at === '2026-03-01T10:00:00.000Z' ? [] : [`at ${at}`];
  return [shown, ...when, ...(severity === 'Informational' ? [] : [level(severity)]), ...said, ...flow].join(
    ' | ',
  );
}

function lines(name: string, title: string, rows: readonly Row[]): void {
  test(`${name}: ${title}`, () => {
    assert.deepEqual(
      rows.map(([record]) => lineTold(name, record)),
      rows.map(([, expected]) => expected),
    );
  });
}

const trace = '0af7651916cd43dd8448eb211c80319c';
const flow = '0af76519-16cd-43dd-8448-eb211c80319c';
const saved = { action: 'document.save', user: zoe };
const by = `document.save: Other | by ${zoe}`;
const nobody = 'Log message: Other | by nobody';

lines('json', 'times, severities and messages of log libraries', [
  [{ level: 30, time: 1_772_359_200_000, pid: 1, msg: 'saved', ...saved }, `${by} | says saved`],
  [{ level: 50, time: 1_772_359_200_000, msg: 'saved', ...saved }, `${by} | severity High | says saved`],
  [
    { level: 'warn', timestamp: '2026-03-01T10:00:00Z', message: 'saved', ...saved },
    `${by} | severity Medium | says saved`,
  ],
  [{ level: 'info', ts: 1_772_359_200.0, msg: 'saved', ...saved }, `${by} | says saved`],
  [
    {
      instant: { epochSecond: 1_772_359_200, nanoOfSecond: 5_000_000 },
      level: 'ERROR',
      message: 'saved',
      ...saved,
    },
    `${by} | at 2026-03-01T10:00:00.005Z | severity High | says saved`,
  ],
  [
    { timeMillis: 1_772_359_200_000, level: 'FATAL', message: 'saved', ...saved },
    `${by} | severity High | says saved`,
  ],
  [
    { '@t': '2026-03-01T10:00:00.0000000Z', '@mt': 'saved {Id}', '@l': 'Warning', ...saved },
    `${by} | severity Medium | says saved {Id}`,
  ],
  [
    {
      Timestamp: '2026-03-01T11:00:00.0000000+01:00',
      Level: 'Error',
      MessageTemplate: 'saved {Id}',
      ...saved,
    },
    `${by} | severity High | says saved {Id}`,
  ],
  [
    { asctime: '2026-03-01 10:00:00,000', levelname: 'CRITICAL', message: 'saved', ...saved },
    `${by} | severity High | says saved`,
  ],
  [
    {
      version: '1.1',
      host: 'h',
      short_message: 'saved',
      timestamp: 1_772_359_200.0,
      level: 4,
      _action: 'document.save',
      _user: zoe,
    },
    `${by} | severity Medium | says saved`,
  ],
  [
    { __REALTIME_TIMESTAMP: '1772359200000000', PRIORITY: '3', MESSAGE: 'saved', ...saved },
    `${by} | severity High | says saved`,
  ],
  [
    { timestamp: '2026-03-01T10:00:00Z', severity: 'WARNING', message: 'saved', ...saved },
    `${by} | severity Medium | says saved`,
  ],
  [
    { timestamp: { seconds: 1_772_359_200, nanos: 0 }, severity: 'NOTICE', message: 'saved', ...saved },
    `${by} | says saved`,
  ],
  [
    { '@timestamp': '2026-03-01T10:00:00Z', 'log.level': 'error', message: 'saved', ...saved },
    `${by} | severity High | says saved`,
  ],
  [
    { '@timestamp': '2026-03-01T10:00:00Z', log: { level: 'warn' }, message: 'saved', ...saved },
    `${by} | severity Medium | says saved`,
  ],
  ...(
    [
      [200, 'INFO', ''],
      [250, 'NOTICE', ''],
      [300, 'WARNING', ' | severity Medium'],
      [400, 'ERROR', ' | severity High'],
      [550, 'ALERT', ' | severity High'],
    ] as const
  ).flatMap(([level, level_name, severity]): Row[] => {
    const datetime = '2026-03-01T10:00:00.000000+00:00';
    const monolog = { message: 'saved', level, datetime, channel: 'app', extra: {} };
    const nested = { context: { action: 'document.save', user: zoe } };
    const read = `${by}${severity} | says saved`;
    return [
      [{ ...monolog, context: [], ...saved }, read],
      [{ ...monolog, level_name, ...nested }, read],
    ];
  }),
  [{ created_at: '2026-03-01T10:00:00Z', message: 'saved', ...saved }, `${by} | says saved`],
  [{ eventTime: '2026-03-01T10:00:00Z', message: 'saved', ...saved }, `${by} | says saved`],
  // Of Microsoft 365, whose times are UTC.
  [{ CreationTime: '2026-03-01T10:00:00', message: 'saved', ...saved }, `${by} | says saved`],
  [
    { CreationTime: '2026-03-01T10:00:00', ResultStatus: 'Failed', message: 'saved', ...saved },
    `${by} | failed 400 | says saved`,
  ],
  [line({ severity: 2, message: 'saved', ...saved }), `${by} | severity High | says saved`],
  [line({ level: 'I', event: 'saved', ...saved }), `${by} | says saved`],
  [line({ message: 7, ...saved }), `${by} | says 7`],
  [line({ message: { parts: 1 }, msg: '', ...saved }), by],
  [line({ action: '', msg: 'saved' }), `${nobody} | says saved`],
  [line({ action: null, msg: 'saved' }), `${nobody} | says saved`],
  [line({ event: { action: 'document.save' }, user: zoe }), by],
  [line({ 'event.action': 'document.save', user: zoe }), by],
  [line({ action: { code: 9, title: 'document.save' }, user: zoe }), by],
]);

lines('json', 'actors', [
  [line({ action: 'a', actor: { id: 7, name: 'Zoe', email: zoe } }), `a: Other | by ${zoe}`],
  [line({ action: 'a', user: 42 }), 'a: Other | by 42'],
  [line({ action: 'a', user: { id: 42 } }), 'a: Other | by 42'],
  [line({ action: 'a', user: { username: zoe } }), `a: Other | by ${zoe}`],
  [line({ action: 'a', user: { name: 'Zoe Hill', email: zoe, roles: ['x'] } }), `a: Other | by ${zoe}`],
  [line({ action: 'a', 'user.name': 'Zoe Hill', 'user.email': zoe }), `a: Other | by ${zoe}`],
  [line({ action: 'a', user_id: 42, username: 'zoe' }), 'a: Other | by zoe'],
  [line({ action: 'a', userId: 'u1' }), 'a: Other | by u1'],
  [line({ action: 'a', usr: { id: 'u1', email: zoe } }), `a: Other | by ${zoe}`],
  [line({ action: 'a', actor: '', user: zoe }), `a: Other | by ${zoe}`],
  [line({ action: 'a', user: {} }), 'a: Other | by nobody'],
  [line({ action: 'a', user: true }), 'a: Other | by nobody'],
]);

lines('json', 'targets, outcomes, addresses and flows', [
  [line({ action: 'a', target: 'Plan' }), 'a: Other | by nobody | of Plan'],
  [line({ action: 'a', target: 7 }), 'a: Other | by nobody | of 7'],
  [line({ action: 'a', target: { id: 7, name: 'Plan', type: 'doc' } }), 'a: Other | by nobody | of Plan'],
  [
    line({ action: 1002, target: { type: 'User', email: bob } }),
    `Authentication: Logon | by nobody | to ${bob} | failed 400 | says Login failed`,
  ],
  [
    line({ action: 1102, outcome: 'success', user: zoe }),
    `Authentication: Other | by ${zoe} | to ${zoe} | failed 400 | says MFA verification failed`,
  ],
  [line({ action: 'a', result: { code: 403 } }), 'a: Other | by nobody | failed 403'],
  [line({ action: 'a', result: { code: '403' } }), 'a: Other | by nobody | failed 403'],
  [line({ action: 'a', result: 'denied' }), 'a: Other | by nobody | failed 400'],
  [line({ action: 'a', outcome: 'FAILURE' }), 'a: Other | by nobody | failed 400'],
  [line({ action: 'a', outcome: 'success', status: 500 }), 'a: Other | by nobody'],
  [line({ action: 'a', event: { outcome: 'failure' } }), 'a: Other | by nobody | failed 400'],
  [line({ action: 'a', 'event.outcome': 'failure' }), 'a: Other | by nobody | failed 400'],
  [line({ action: 'a', success: false }), 'a: Other | by nobody | failed 400'],
  [line({ action: 'a', status: 'error' }), 'a: Other | by nobody | failed 400'],
  [line({ action: 'a', status: 'running' }), 'a: Other | by nobody | unknown: running'],
  [line({ action: 'a', status: 0 }), 'a: Other | by nobody | unknown: 0'],
  [line({ action: 'a', status: 'running', success: true }), 'a: Other | by nobody'],
  [line({ action: 'a', success: 'false' }), 'a: Other | by nobody | failed 400'],
  [line({ action: 'a', success: 'True' }), 'a: Other | by nobody'],
  ...['unsuccessful', 'Timeout', 'fraud', 'CANCELLED', 'aborted', 'denied', 'rejected'].map(
    (outcome): Row => [line({ action: 'a', outcome }), 'a: Other | by nobody | failed 400'],
  ),
  [line({ action: 'a', ip_address: '192.0.2.9' }), 'a: Other | by nobody | from 192.0.2.9'],
  [line({ action: 'a', sourceIP: '192.0.2.9' }), 'a: Other | by nobody | from 192.0.2.9'],
  [line({ action: 'a', src_ip: '192.0.2.9' }), 'a: Other | by nobody | from 192.0.2.9'],
  [line({ action: 'a', status: 404 }), 'a: Other | by nobody | failed 404'],
  [line({ action: 'a', statusCode: 503 }), 'a: Other | by nobody | failed 503'],
  [line({ action: 'a', res: { statusCode: 401 } }), 'a: Other | by nobody | failed 401'],
  [line({ action: 'a', http: { response: { status_code: 401 } } }), 'a: Other | by nobody | failed 401'],
  [
    line({ action: 'a', httpRequest: { status: 401, remoteIp: '192.0.2.9' } }),
    'a: Other | by nobody | from 192.0.2.9 | failed 401',
  ],
  [line({ action: 'a', ip: '192.0.2.9' }), 'a: Other | by nobody | from 192.0.2.9'],
  [line({ action: 'a', remote: '192.0.2.9' }), 'a: Other | by nobody | from 192.0.2.9'],
  [line({ action: 'a', remote: { ip: '192.0.2.9', port: 443 } }), 'a: Other | by nobody | from 192.0.2.9'],
  [line({ action: 'a', client: { ip: '192.0.2.9' } }), 'a: Other | by nobody | from 192.0.2.9'],
  [line({ action: 'a', 'client.ip': '192.0.2.9' }), 'a: Other | by nobody | from 192.0.2.9'],
  [
    line({ action: 'a', source: { ip: '192.0.2.9', port: '70000' } }),
    'a: Other | by nobody | from 192.0.2.9',
  ],
  [line({ action: 'a', 'source.ip': '192.0.2.9' }), 'a: Other | by nobody | from 192.0.2.9'],
  [line({ action: 'a', ip: 'x'.repeat(300) }), 'a: Other | by nobody'],
  [line({ action: 'a', req: { remoteAddress: '::1' } }), 'a: Other | by nobody | from ::1'],
  [line({ action: 'a', flow_id: flow }), `a: Other | by nobody | flow ${flow}`],
  [line({ action: 'a', 'trace.id': trace }), `a: Other | by nobody | flow ${flow}`],
  [line({ action: 'a', trace: { id: trace } }), `a: Other | by nobody | flow ${flow}`],
  [line({ action: 'a', trace_id: trace, request_id: 'r' }), `a: Other | by nobody | flow ${flow}`],
  [
    line({ action: 'a', 'logging.googleapis.com/trace': `projects/p/traces/${trace}` }),
    `a: Other | by nobody | flow ${flow}`,
  ],
  [line({ action: 'a', traceId: 'none' }), 'a: Other | by nobody'],
]);

lines('json', 'what GELF, Serilog and Log4j write beside or below their own members', [
  [
    line({
      short_message: 'm',
      _action: 'a',
      _user: zoe,
      _target: 'Plan',
      _status: 'failed',
      _remote_ip: '192.0.2.9',
    }),
    `a: Other | by ${zoe} | of Plan | from 192.0.2.9 | failed 400 | says m`,
  ],
  [
    line({ short_message: 'm', _action: 'a', _outcome: 'denied', _ip: '192.0.2.9', _trace_id: trace }),
    `a: Other | by nobody | from 192.0.2.9 | failed 400 | says m | flow ${flow}`,
  ],
  [line({ short_message: 'm', _action: 'a', _status: 500 }), 'a: Other | by nobody | failed 500 | says m'],
  [
    {
      Timestamp: '2026-03-01T10:00:00.0000000Z',
      Level: 'Information',
      MessageTemplate: 'saved {Name}',
      TraceId: trace,
      Properties: { action: 'a', user: zoe, target: 'Plan', outcome: 'failure', ip: '192.0.2.9' },
    },
    `a: Other | by ${zoe} | of Plan | from 192.0.2.9 | failed 400 | says saved {Name} | flow ${flow}`,
  ],
  [
    { '@t': '2026-03-01T10:00:00Z', '@tr': trace, action: 'a', StatusCode: 403 },
    `a: Other | by nobody | failed 403 | flow ${flow}`,
  ],
  [
    {
      instant: { epochSecond: 1_772_359_200, nanoOfSecond: 0 },
      level: 'WARN',
      message: 'saved',
      contextMap: { action: 'a', user: zoe, target: 'Plan', outcome: 'failure', trace_id: trace },
    },
    `a: Other | by ${zoe} | of Plan | failed 400 | severity Medium | says saved | flow ${flow}`,
  ],
]);

const log = (attributes: object, more: object = {}): object => ({
  timeUnixNano: '1772359200000000000',
  attributes,
  ...more,
});

lines('otlp', 'semantic conventions', [
  [log({ 'event.name': 'a', 'user.id': 'u1', 'user.email': zoe }), `a: Other | by ${zoe}`],
  [log({ 'user.full_name': 'Zoe Hill', 'user.name': zoe }, { eventName: 'a' }), `a: Other | by ${zoe}`],
  [log({ action: 'a', 'enduser.id': zoe }), `a: Other | by ${zoe}`],
  [log({ action: 'a', 'enduser.pseudo.id': 'p1' }), 'a: Other | by p1'],
  [log({ action: '', 'user.id': 7 }, { eventName: 'a' }), 'a: Other | by 7'],
  [
    log({ action: 'a', 'client.address': '192.0.2.9', 'client.port': 7 }),
    'a: Other | by nobody | from 192.0.2.9',
  ],
  [log({ action: 'a', 'network.peer.address': '192.0.2.9' }), 'a: Other | by nobody | from 192.0.2.9'],
  [log({ action: 'a', 'http.response.status_code': 403 }), 'a: Other | by nobody | failed 403'],
  [log({ action: 'a', 'http.status_code': 403 }), 'a: Other | by nobody | failed 403'],
  [log({ action: 'a', 'event.outcome': 'failure' }), 'a: Other | by nobody | failed 400'],
  [log({ action: 'a', outcome: 'denied' }), 'a: Other | by nobody | failed 400'],
  [
    log({ action: 'a', 'error.type': 'TimeoutError' }),
    'a: Other | by nobody | failed 400 | says TimeoutError',
  ],
  [
    log({ action: 'a', 'exception.type': 'IOError', 'exception.message': 'no disk' }, { severityNumber: 17 }),
    'a: Other | by nobody | failed 400 | severity High | says IOError: no disk',
  ],
  [
    log({ action: 'a', 'exception.type': 'IOError' }, { severityText: 'error' }),
    'a: Other | by nobody | failed 400 | severity High | says IOError',
  ],
  // One that was caught and logged in passing.
  [
    log({ action: 'a', 'exception.type': 'IOError' }, { severityNumber: 9 }),
    'a: Other | by nobody | says IOError',
  ],
  [log({ action: 'a', outcome: 'pending' }), 'a: Other | by nobody | unknown: pending'],
  [log({ action: 'a' }, { traceId: trace }), `a: Other | by nobody | flow ${flow}`],
  [log({ action: 'a' }, { severityNumber: 17 }), 'a: Other | by nobody | severity High'],
  [log({ action: 'a' }, { body: { message: 'saved' } }), 'a: Other | by nobody | says saved'],
  [log({ action: 'a', target: { name: 'Plan' } }), 'a: Other | by nobody | of Plan'],
]);
