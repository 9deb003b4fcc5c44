/** Bounds of what is asked of providers; units last. */
export const limits = {
  /** All that one step of a sign-in asks of a provider. */
  providerMsMax: 5_000,
  providerAnswerBytesMax: 1024 * 1024,
  /** Sign-ins of one provider that wait for it at once. */
  providerWaitingMax: 64,
  /** How long what a provider says of itself is believed; its keys are asked for again when one is not known. */
  providerKeptMs: 3_600_000,
  /** Providers of which that is remembered. */
  providersMax: 1_000,
  /** From the start of a sign-in to its end. */
  attemptMs: 10 * 60_000,
  returnCharactersMax: 1_000,
  /** Of what a provider says: a longer subject is none (OpenID Connect Core, 2), and a longer text no e-mail address. */
  subjectCharactersMax: 255,
  emailCharactersMax: 254,
  clockToleranceSeconds: 30,
} as const;
