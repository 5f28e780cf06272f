import { BlockSkeleton } from '../components/block-skeleton.tsx';

/** Shown in the frame in place of a page while its code loads. */
export const PageSkeleton = () => (
  <div className="stack">
    <div style={{ width: 180 }}>
      <BlockSkeleton height={30} />
    </div>
    <BlockSkeleton height={320} />
  </div>
);
