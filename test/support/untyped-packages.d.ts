/** It has no types; `oidc-provider.ts` names those that it uses. */
declare module 'oidc-provider';
