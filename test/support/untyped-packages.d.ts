/** It comes without types; `oidc-provider.ts` names those that it uses. */
declare module 'oidc-provider';
