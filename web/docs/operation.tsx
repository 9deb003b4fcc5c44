import { useState } from 'preact/hooks';
import { type Body, type Document, type OperationProps, resolve, type Schema, typeOf } from './document.ts';
import { Prose } from './prose.tsx';
import { Try } from './try.tsx';

/** An operation: its line, and when that is opened, all there is to know. */
export function OperationDetails(props: OperationProps) {
  const { document, path, method, operation } = props;
  const [isOpen, setOpen] = useState(false);
  const takesKey = operation.security?.some((one) => 'apiKey' in one) === true;
  return (
    <details class="operation" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <b class="mono">{method.toUpperCase()}</b> <code>{path}</code> <span>{operation.summary}</span>
      </summary>
      {isOpen && (
        <div>
          <Prose text={operation.description} />
          {takesKey ? <Try {...props} /> : <Parameters {...props} />}
          {operation.requestBody !== undefined && (
            <Answer title="Body" body={operation.requestBody} document={document} />
          )}
          {Object.entries(operation.responses).map(([status, body]) => (
            <Answer key={status} title={status} body={body} document={document} />
          ))}
        </div>
      )}
    </details>
  );
}

/** Those of what cannot be tried here. */
function Parameters({ document, operation }: OperationProps) {
  const parameters = (operation.parameters ?? []).map((one) => resolve(document, one));
  return (
    <dl class="members">
      {parameters.map(({ name, schema, description }) => (
        <Member key={name} name={name} schema={{ ...schema, ...(description && { description }) }} />
      ))}
    </dl>
  );
}

interface AnswerProps {
  readonly title: string;
  readonly body: Body;
  readonly document: Document;
}

function Answer({ title, body, document }: AnswerProps) {
  const { description, content = {} } = resolve(document, body);
  const [media] = Object.values(content);
  const isProblem = 'application/problem+json' in content;
  return (
    <section class="answer">
      <h3>
        {title} <span class="muted">{Object.keys(content).join(', ')}</span>
      </h3>
      <Prose text={description} />
      {!isProblem && media?.schema !== undefined && <Members schema={media.schema} document={document} />}
    </section>
  );
}

interface MembersProps {
  readonly schema: Schema;
  readonly document: Document;
}

/** Members of an object, or of the elements of an array; those of members are there once they are opened. */
function Members({ schema, document }: MembersProps) {
  const whole = resolve(document, schema);
  if (whole.items !== undefined) return <Members schema={whole.items} document={document} />;
  const choices = whole.oneOf ?? whole.anyOf ?? [];
  return (
    <>
      {choices.map((choice, index) => (
        <Nested key={index} schema={choice} document={document} />
      ))}
      <dl class="members">
        {Object.entries(whole.properties ?? {}).map(([name, member]) => (
          <Member key={name} name={name} schema={member} isRequired={whole.required?.includes(name) === true}>
            <Nested schema={member} document={document} />
          </Member>
        ))}
      </dl>
    </>
  );
}

interface MemberProps {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired?: boolean;
  readonly children?: preact.ComponentChildren;
}

function Member({ name, schema, isRequired = false, children }: MemberProps) {
  return (
    <>
      <dt>
        <code>{name}</code> <code class="muted">{typeOf(schema)}</code>
        {isRequired && <span class="muted"> required</span>}
      </dt>
      <dd>
        <Prose text={schema.description} />
        {children}
      </dd>
    </>
  );
}

function Nested({ schema, document }: MembersProps) {
  const [isOpen, setOpen] = useState(false);
  const inner = resolve(document, schema);
  const element = inner.items === undefined ? inner : resolve(document, inner.items);
  if (element.properties === undefined && element.oneOf === undefined && element.anyOf === undefined)
    return null;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Members of {typeOf(inner === element ? schema : (inner.items ?? schema))}</summary>
      {isOpen && <Members schema={element} document={document} />}
    </details>
  );
}
