import type { User } from '../api/types.ts';

/** Of a dialog that changes somebody. */
export interface UserDialogProps {
  readonly user: User;
  readonly onDone: () => void;
  readonly onClose: () => void;
}
