import type { SignOnSettings } from './records.ts';

/** The settings of an organization that has made none. */
export function defaultSignOn(organizationId: string): SignOnSettings {
  return {
    id: organizationId,
    provider: 'service',
    issuer: '',
    clientId: '',
    clientSecret: '',
    scopes: 'openid email profile',
    trustEmail: false,
    linkEmail: true,
    createUsers: false,
    roleClaim: '',
    adminValues: [],
    auditorValues: [],
    memberValues: [],
    defaultRole: undefined,
    passwords: true,
    connectedMicros: 0,
    provenMicros: undefined,
  };
}
