const domain = 'erased.invalid';

/** In a domain that never receives mail (RFC 2606). */
export const addressOfPseudonym = (pseudonym: string): string => `${pseudonym}@${domain}`;

/** The account's person was erased. */
export const isAddressOfPseudonym = (email: string): boolean => email.endsWith(`@${domain}`);
