import type { ProblemForm } from './problem-form.ts';
import { problemDocument } from './problem-reply.ts';
import type { RequestHead } from './request.ts';

/**
 * Errors of what a browser is sent to, and not a script: the page has the words, in the language of the person. Nothing but
 * a word of ours and the id of the request goes there. Programs get a problem document.
 */
export const signOnForm: ProblemForm = (problem, head) => {
  if (!wantsPage(head)) return problemDocument(problem, head);
  const { code, options } = problem;
  const known = options.members?.['sign_on'];
  const other = code === 'rate_limited' ? 'often' : 'failed';
  const fault = typeof known === 'string' ? known : other;
  const query = new URLSearchParams({ fault, reference: head.requestId }).toString();
  return {
    status: 303,
    type: 'text/plain; charset=utf-8',
    body: '',
    headers: { Location: `/#/sign-in?${query}` },
  };
};

function wantsPage({ headers }: RequestHead): boolean {
  return (headers.get('accept') ?? '').toLowerCase().includes('text/html');
}
