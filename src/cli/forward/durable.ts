import { AuditlogError } from '../../client/client.ts';

const passing = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EAGAIN', 'EMFILE', 'ENFILE', 'ETIMEDOUT', 'ESTALE']);

/** A disk that is full or fails now may take it later: such an error is one that is retried. */
export async function orTransient<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (!passing.has(code)) throw error;
    throw new AuditlogError('network', `writing failed: ${code}`, { cause: error });
  }
}
