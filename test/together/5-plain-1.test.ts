import { runTogether } from '../support/together.ts';

runTogether('plain', 1, 2);
