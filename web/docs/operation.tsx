import { Fragment } from 'preact';
import { Opened } from '../ui/opened.tsx';
import { type Body, type OperationProps, type Schema, typeOf } from './document.ts';
import { Try } from './try.tsx';

export function OperationDetails(props: OperationProps) {
  const { path, method, operation } = props;
  const { summary, description, security, parameters = [], requestBody, responses } = operation;
  const takesKey = security?.some((one) => 'apiKey' in one) === true;
  const line = (
    <>
      <b class="mono">{method.toUpperCase()}</b> <code>{path}</code> <span class="muted">{summary}</span>
    </>
  );
  return (
    <Opened class="operation" summary={line}>
      {() => (
        <div class="stack">
          <Prose text={description} />
          {takesKey ? (
            <Try {...props} />
          ) : (
            <dl class="members">
              {parameters.map(({ name, schema, description }) => (
                <Member key={name} name={name} schema={{ ...schema, ...(description && { description }) }} />
              ))}
            </dl>
          )}
          {requestBody !== undefined && <Answer title="Body" body={requestBody} />}
          {Object.entries(responses).map(([status, body]) => (
            <Answer key={status} title={status} body={body} />
          ))}
        </div>
      )}
    </Opened>
  );
}

function Answer({ title, body }: { readonly title: string; readonly body: Body }) {
  const { description, content = {} } = body;
  const [media] = Object.values(content);
  const isProblem = 'application/problem+json' in content;
  return (
    <section class="answer">
      <h3>
        {title} <span class="muted">{Object.keys(content).join(', ')}</span>
      </h3>
      <Prose text={description} />
      {!isProblem && media?.schema !== undefined && <Members schema={media.schema} />}
    </section>
  );
}

/** Members of an object or of array elements; nested members are rendered when opened. */
function Members({ schema }: { readonly schema: Schema }) {
  const { items, oneOf, anyOf, properties = {}, required } = schema;
  if (items !== undefined) return <Members schema={items} />;
  return (
    <>
      {(oneOf ?? anyOf)?.map((choice, index) => (
        <Nested key={index} schema={choice} />
      ))}
      <dl class="members">
        {Object.entries(properties).map(([name, member]) => (
          <Member key={name} name={name} schema={member} isRequired={required?.includes(name) === true} />
        ))}
      </dl>
    </>
  );
}

interface MemberProps {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired?: boolean;
}

function Member({ name, schema, isRequired = false }: MemberProps) {
  return (
    <>
      <dt>
        <code>{name}</code> <code class="muted">{typeOf(schema)}</code>
        {isRequired && <span class="muted"> required</span>}
      </dt>
      <dd>
        <Prose text={schema.description} />
        <Nested schema={schema} />
      </dd>
    </>
  );
}

function Nested({ schema }: { readonly schema: Schema }) {
  const element = schema.items ?? schema;
  if (element.properties === undefined && element.oneOf === undefined && element.anyOf === undefined)
    return null;
  return <Opened summary={`Members of ${typeOf(element)}`}>{() => <Members schema={element} />}</Opened>;
}

/** The Markdown that the document uses: paragraphs, lists and `code`. */
export function Prose({ text = '' }: { readonly text?: string | undefined }) {
  return (
    <>
      {text
        .trim()
        .split(/\n\n+/)
        .map((block, index) =>
          block.startsWith('- ') ? (
            <ul key={index}>
              {block
                .slice(2)
                .split(/\n- /)
                .map((item) => (
                  <li key={item}>{inline(item)}</li>
                ))}
            </ul>
          ) : (
            <p key={index}>{inline(block)}</p>
          ),
        )}
    </>
  );
}

function inline(text: string) {
  return text
    .split('`')
    .map((piece, index) =>
      index % 2 === 1 ? <code key={index}>{piece}</code> : <Fragment key={index}>{piece}</Fragment>,
    );
}
