import { useState } from 'preact/hooks';
import { asText, exampleOf, type OperationProps, type Parameter, resolve } from './document.ts';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/forms.tsx';
import { JsonView } from '../ui/json-view.tsx';

/** An answer is shown so far; the rest is given up. */
const shownBytesMax = 256 * 1024;
/** What browsers send by themselves, or never let a page send. */
const notSent = ['Accept-Encoding', 'Content-Encoding'];

interface Answer {
  readonly status: string;
  readonly type: string;
  readonly text: string;
}

/** A form with the parameters of an operation, which asks this server, and what it says. */
export function Try({ document, path, method, operation, apiKey }: OperationProps) {
  const [answer, setAnswer] = useState<Answer>();
  const [isBusy, setBusy] = useState(false);
  const parameters = (operation.parameters ?? [])
    .map((one) => resolve(document, one))
    .filter(({ name }) => !notSent.includes(name));
  const body = operation.requestBody && resolve(document, operation.requestBody);
  const [type, media] = Object.entries(body?.content ?? {}).find(([name]) => name.endsWith('json')) ?? [];
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const data = new FormData(event.currentTarget);
    setBusy(true);
    try {
      setAnswer(await ask(requestOf(path, parameters, data), method, type, data, apiKey));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="form try" onSubmit={(event) => void onSubmit(event)}>
      <div class="parameters">
        {parameters.map((parameter) => (
          <Input key={parameter.name} parameter={parameter} />
        ))}
      </div>
      {type !== undefined && (
        <textarea
          name="body of the request"
          aria-label="Body"
          rows={10}
          class="mono"
          defaultValue={exampleOf(document, media)}
        />
      )}
      <div>
        <Button type="submit" look="primary" disabled={isBusy || apiKey === ''}>
          Send
        </Button>{' '}
        {apiKey === '' && <span class="muted">This needs an API key, above.</span>}
      </div>
      <div role="status">
        {answer !== undefined && (
          <div class="answer json" tabIndex={0} role="group" aria-label="Answer">
            <h3>{answer.status}</h3>
            {/json/.test(answer.type) ? <JsonView text={answer.text} /> : <pre>{answer.text}</pre>}
          </div>
        )}
      </div>
    </form>
  );
}

function Input({
  parameter: { name, in: place, required = false, description, schema, example },
}: {
  readonly parameter: Parameter;
}) {
  const choices = schema?.enum?.map(String);
  const hint = description?.trim().replaceAll('`', '');
  return (
    <Field
      label={name}
      name={name}
      hint={hint}
      options={choices && ['', ...choices].map((one) => [one, one] as const)}
      required={required || place === 'path'}
      placeholder={asText(example ?? schema?.default)}
    />
  );
}

interface Request {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

function requestOf(path: string, parameters: readonly Parameter[], data: FormData): Request {
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  let place = path;
  for (const { name, in: where } of parameters) {
    const value = asText(data.get(name));
    if (where === 'path')
      place = place.replace(`{${name}}`, value.split('/').map(encodeURIComponent).join('/'));
    else if (value !== '' && where === 'query') query.set(name, value);
    else if (value !== '') headers[name] = value;
  }
  return { url: query.size === 0 ? place : `${place}?${query.toString()}`, headers };
}

async function ask(
  { url, headers }: Request,
  method: string,
  type: string | undefined,
  data: FormData,
  apiKey: string,
): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method: method.toUpperCase(),
      headers: { ...headers, 'X-API-Key': apiKey, ...(type && { 'Content-Type': type }) },
      credentials: 'omit',
      ...(type && { body: asText(data.get('body of the request')) }),
    });
    const text = await startOf(response);
    return {
      status: `${response.status} ${response.statusText} · ${url}`,
      type: response.headers.get('content-type') ?? '',
      text,
    };
  } catch (error) {
    return { status: 'No answer', type: '', text: String(error) };
  }
}

/** The text of an answer, or its beginning: an export may be larger than any page should hold. */
async function startOf(response: Response): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (let bytes = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += decoder.decode(value, { stream: true });
    bytes += value.length;
    if (bytes < shownBytesMax) continue;
    await reader.cancel();
    return `${text.slice(0, shownBytesMax)}\n…`;
  }
}
