import { Fragment } from 'preact';

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
