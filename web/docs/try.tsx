import { useState } from 'preact/hooks';
import { Field, type Fields, Form } from '../ui/forms.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { asText, exampleOf, type OperationProps, type Parameter } from './document.ts';

/** Bytes shown of an answer; the rest is not read. */
const shownBytesMax = 256 * 1024;
/** Headers that browsers set themselves and pages must not. */
const notSent = ['Accept-Encoding', 'Content-Encoding'];
const bodyField = 'body of the request';

interface Answer {
  readonly status: string;
  readonly type: string;
  readonly text: string;
  readonly ignored?: string | undefined;
}

export function Try({ path, method, operation, apiKey }: OperationProps) {
  const [answer, setAnswer] = useState<Answer>();
  const parameters = (operation.parameters ?? []).filter(({ name }) => !notSent.includes(name));
  const bodies = Object.entries(operation.requestBody?.content ?? {});
  const [type, media] = bodies.find(([name]) => name.endsWith('json')) ?? [];
  const task = async (field: Fields) => {
    const { url, headers } = requestOf(path, parameters, field);
    setAnswer(
      await ask(url, {
        method: method.toUpperCase(),
        headers: { ...headers, 'X-API-Key': apiKey, ...(type && { 'Content-Type': type }) },
        credentials: 'omit',
        ...(type && { body: field(bodyField) }),
      }),
    );
  };
  const note = apiKey === '' && <span class="muted">This needs an API key, above.</span>;
  return (
    <div class="try form">
      <Form submit="Send" isReady={apiKey !== ''} task={task} end={note}>
        <div class="parameters stack">
          {parameters.map((parameter) => (
            <Input key={parameter.name} parameter={parameter} />
          ))}
        </div>
        {type !== undefined && (
          <textarea
            name={bodyField}
            aria-label="Body"
            rows={10}
            class="mono"
            defaultValue={exampleOf(media)}
          />
        )}
      </Form>
      <div role="status">
        {answer !== undefined && (
          <div class="answer json" tabIndex={0} role="group" aria-label="Answer">
            <h3>{answer.status}</h3>
            {answer.ignored !== undefined && (
              <p class="fault">
                The server did not use: {answer.ignored}. It answered as if that was not given; times are
                complete, such as 2026-11-27T00:00:00Z.
              </p>
            )}
            {/json/.test(answer.type) ? <JsonView text={answer.text} /> : <pre>{answer.text}</pre>}
          </div>
        )}
      </div>
    </div>
  );
}

function Input({ parameter }: { readonly parameter: Parameter }) {
  const { name, in: place, required = false, description, schema, example } = parameter;
  const choices = schema?.enum?.map(String);
  return (
    <Field
      label={name}
      name={name}
      hint={description?.trim().replaceAll('`', '')}
      options={choices && ['', ...choices].map((one) => [one, one] as const)}
      required={required || place === 'path'}
      placeholder={asText(example ?? schema?.default)}
    />
  );
}

function requestOf(path: string, parameters: readonly Parameter[], field: Fields) {
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  let place = path;
  for (const { name, in: where } of parameters) {
    const value = field(name);
    if (where === 'path')
      place = place.replace(`{${name}}`, value.split('/').map(encodeURIComponent).join('/'));
    else if (value !== '' && where === 'query') query.set(name, value);
    else if (value !== '') headers[name] = value;
  }
  return { url: query.size === 0 ? place : `${place}?${query.toString()}`, headers };
}

async function ask(url: string, request: RequestInit): Promise<Answer> {
  try {
    const response = await fetch(url, request);
    const status = `${response.status} ${response.statusText} · ${url}`;
    const type = response.headers.get('content-type') ?? '';
    const ignored = response.headers.get('ignored-parameters') ?? undefined;
    return { status, type, text: await startOf(response), ignored };
  } catch (error) {
    return { status: 'No answer', type: '', text: String(error) };
  }
}

/** The beginning of an answer: an export may be larger than a page can hold. */
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
