/** An e-mail address in the form in which accounts are compared: without regard to case, or to how its characters are composed. */
export const comparedEmail = (email: string): string => email.trim().normalize('NFC').toLowerCase();
