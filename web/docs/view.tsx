import './view.css';
import { useState } from 'preact/hooks';
import { get } from '../api/request.ts';
import { Field } from '../ui/forms.tsx';
import { Loaded, useResource } from '../ui/resource.tsx';
import { type Document, resolve } from './document.ts';
import { OperationDetails, Prose } from './operation.tsx';

/** The description of the API. It needs no session. */
export default function DocsView() {
  const { resource } = useResource(
    async (signal) => resolve(await get<Document>('/openapi.json', {}, { signal })),
    [],
  );
  document.title = 'API';
  return (
    <main class="page docs" lang="en">
      <Loaded resource={resource}>{(description) => <Description document={description} />}</Loaded>
    </main>
  );
}

/** Operations by tag; those that take a key can be tried. */
function Description({ document }: { readonly document: Document }) {
  const { info, tags, paths } = document;
  const [key, setKey] = useState('');
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  return (
    <>
      <h1>
        {info.title} <span class="muted">{info.version}</span>
      </h1>
      <Prose text={info.description} />
      <p>
        The same for programs: <a href="/openapi.json">openapi.json</a>. For people: <a href="/">the page</a>.
      </p>
      <Field
        label="API key"
        type="password"
        autocomplete="off"
        spellcheck={false}
        placeholder="ak_…"
        hint="Sent with the requests of this page, to this server only, and kept nowhere."
        value={key}
        onInput={({ currentTarget }) => setKey(currentTarget.value.trim())}
      />
      {tags.map(({ name, description }) => (
        <section key={name} aria-labelledby={`tag-${name}`}>
          <h2 id={`tag-${name}`}>{name}</h2>
          <Prose text={description} />
          {operations
            .filter(({ operation }) => operation.tags.includes(name))
            .map((one) => (
              <OperationDetails key={one.operation.operationId} {...one} apiKey={key} />
            ))}
        </section>
      ))}
    </>
  );
}
