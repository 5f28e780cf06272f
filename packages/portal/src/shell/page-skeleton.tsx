import { BlockSkeleton } from '../lists/table-skeleton.tsx';

/** In the frame, in place of a page whose code is on its way: the shape of a title and of what stands below it. */
export const PageSkeleton = () => (
  <div className="stack">
    <div style={{ width: 180 }}>
      <BlockSkeleton height={30} />
    </div>
    <BlockSkeleton height={320} />
  </div>
);
