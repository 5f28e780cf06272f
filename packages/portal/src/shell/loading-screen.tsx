/** Shown while the first page loads. index.html shows the same before any script has loaded; theme/base.css styles it. */
export const LoadingScreen = () => (
  <div className="loading-screen" role="status" aria-label="Loading">
    <img src="/favicon.svg" width="40" height="40" alt="" />
  </div>
);
