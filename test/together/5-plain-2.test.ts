import { runTogether } from '../support/together.ts';

runTogether('plain', 2, 2);
