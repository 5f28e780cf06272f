/** The page is on its way and nothing of it is there yet. The same as index.html shows before any script has come; looks in theme/base.css. */
export const LoadingScreen = () => (
  <div className="loading-screen" role="status" aria-label="Loading">
    <img src="/favicon.svg" width="40" height="40" alt="" />
  </div>
);
