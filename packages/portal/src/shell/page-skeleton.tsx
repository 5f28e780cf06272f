import { BlockSkeleton } from '../components/block-skeleton.tsx';

/** Shown in the frame in place of a page while its code loads. */
export const PageSkeleton = () => (
  <div className="stack">
    <div style={{ width: 180 }}>
      <BlockSkeleton heightPx={30} />
    </div>
    <BlockSkeleton heightPx={320} />
  </div>
);
