import { cruise } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import rules from '../../.dependency-cruiser.cjs';

/**
 * Compares imports of src/ and web/ with the arrow table; run by `npm run check`. Also fails if the tool saw
 * no module or import, as it does when it cannot parse the language.
 */
const { options, ...ruleSet } = rules;
const folders = ['src', 'web'];
const result = await cruise(
  folders,
  { ...options, ruleSet, validate: true, outputType: 'err-long' },
  undefined,
  { tsConfig: extractTSConfig('tsconfig.json') },
);
const json = await cruise(folders, options, undefined, { tsConfig: extractTSConfig('tsconfig.json') });
const modules = json.output.modules.filter(({ source }) => /^(src|web)\//.test(source));
const imports = modules.flatMap(({ dependencies }) => dependencies);
process.stdout.write(
  `${/** @type {string} */ (result.output)}\n${modules.length} modules, ${imports.length} imports\n`,
);
const seesPage = modules.some(({ source }) => source === 'web/events/view.tsx');
const blind = modules.length < 20 || !seesPage || imports.length < modules.length;
if (blind) process.stdout.write('the layer check did not see the code\n');
process.exitCode = result.exitCode !== 0 || blind ? 1 : 0;
