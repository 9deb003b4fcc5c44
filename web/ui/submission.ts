import { useState } from 'preact/hooks';
import { RequestError } from '../api/request.ts';

/** The text of a field of the form, by its name; empty where there is none. */
export type Fields = (name: string) => string;

interface Submission {
  /** Why the last try failed; undefined from the next on. */
  readonly error: RequestError | undefined;
  readonly isBusy: boolean;
  readonly onSubmit: (event: SubmitEvent) => void;
}

/** What a form does when it is sent: one try at a time, and its failure to be shown. */
export function useSubmission(task: (fields: Fields) => Promise<void>): Submission {
  const [error, setError] = useState<RequestError>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (data: FormData) => {
    setBusy(true);
    setError(undefined);
    try {
      await task((name) => textOf(data.get(name)));
    } catch (failure) {
      if (!(failure instanceof RequestError)) throw failure;
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return {
    error,
    isBusy,
    onSubmit: (event) => {
      event.preventDefault();
      if (event.currentTarget instanceof HTMLFormElement) void submit(new FormData(event.currentTarget));
    },
  };
}

function textOf(value: FormDataEntryValue | null): string {
  return typeof value === 'string' ? value : '';
}
