/** Style sheets are imported for their effect; Vite puts them into files, as it does pictures, whose addresses it gives. */
declare module '*.css';
declare module '*.svg' {
  const address: string;
  export default address;
}
