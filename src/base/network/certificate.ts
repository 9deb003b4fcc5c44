import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';

/** Texts of PEM. */
interface CertificateTexts {
  /** The certificate of a server with its chain, and its key. */
  readonly pem: string;
  /** Authorities whose certificates clients show; undefined: clients need none. */
  readonly clientCa: string | undefined;
}

/** What is known of a certificate that belongs to its key. */
export interface CertificateFacts {
  /** SHA-256 of the certificate, as Node.js spells it: `AB:CD:…`. */
  readonly fingerprint: string;
  /** When it ends, Unix milliseconds. */
  readonly endsMs: number;
  /** Another one for any other content of the files. */
  readonly version: string;
}

/** Throws an Error that follows a setting's name if the texts cannot be served. */
export function certificateFacts({ pem, clientCa }: CertificateTexts): CertificateFacts {
  const certificate = read('the certificate', () => new X509Certificate(pem));
  const privateKey = read('the key', () => createPrivateKey(pem));
  if (!certificate.checkPrivateKey(privateKey))
    throw new Error('the certificate and the key do not belong together');
  if (clientCa !== undefined)
    read('the authority of client certificates', () => new X509Certificate(clientCa));
  return {
    fingerprint: certificate.fingerprint256,
    endsMs: Date.parse(certificate.validTo),
    version: createHash('sha256')
      .update(JSON.stringify([pem, clientCa]))
      .digest('hex'),
  };
}

/** OpenSSL's errors may quote the text, which may be a key. */
function read<T>(what: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw new Error(`${what} cannot be read: allowed is PEM, the key without a passphrase`);
  }
}
