import type { CustomFetch } from 'openid-client';
import { limits } from './limits.ts';

/** Fails beyond `limits.providerAnswerBytesMax`. */
export const boundedFetch: CustomFetch = async (url, { body, ...options }) => {
  const response = await fetch(url, { ...options, body: body ?? null });
  if (response.body === null) return response;
  let bytes = 0;
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length;
        if (bytes > limits.providerAnswerBytesMax)
          controller.error(
            new Error(`The answer of the provider exceeds ${limits.providerAnswerBytesMax} bytes`),
          );
        else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(counted, { status, statusText, headers });
};
