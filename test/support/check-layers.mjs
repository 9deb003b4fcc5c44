import { cruise } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import rules from '../../.dependency-cruiser.cjs';

/**
 * Holds the imports of src/ and web/ against the arrow table. Run by `npm run check`; also fails when the tool saw no module
 * or no import, which is how it behaves when it cannot read the language.
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
