import { runTogether } from '../support/together.ts';
// First, so that browser and service end with the last of the files and not with the first.
import '../web/support.ts';

runTogether('page', 1, 1);
