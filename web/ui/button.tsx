import type { ButtonHTMLAttributes } from 'preact';

type ButtonProps = ButtonHTMLAttributes & {
  /** Further classes of `.button`: `primary`, `quiet small`. */
  readonly look?: string | undefined;
};

/** A button that sends no form unless its `type` says so. */
export function Button({ look = '', ...attributes }: ButtonProps) {
  return <button type="button" class={`button ${look}`} {...attributes} />;
}
