import { BlockSkeleton } from '../components/block-skeleton.tsx';

/** Shown in the frame while the code of a page loads. */
export const PageSkeleton = () => (
  <div className="stack">
    <div style={{ width: 180 }}>
      <BlockSkeleton height={30} />
    </div>
    <BlockSkeleton height={320} />
  </div>
);
