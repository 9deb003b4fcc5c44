import { runTogether } from '../support/together.ts';

runTogether('engine', 1, 1);
