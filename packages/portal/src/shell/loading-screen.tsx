/**
 * Shown while the session, or a page outside a frame, loads. index.html shows the same screen before the scripts have loaded.
 * theme/base.css styles both.
 */
export const LoadingScreen = () => (
  <div className="loading-screen" role="status" aria-label="Loading">
    <img src="/favicon.svg" width="40" height="40" alt="" />
  </div>
);
