import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';

interface CertificateTexts {
  readonly pem: string;
  /** Authorities of client certificates; undefined: clients need none. */
  readonly clientCa: string | undefined;
}

export interface CertificateFacts {
  /** SHA-256 as Node.js writes it: `AB:CD:…`. */
  readonly fingerprint: string;
  readonly endsMs: number;
  readonly version: string;
}

/** Throws an Error whose message follows a setting's name. */
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
