import type { Finding } from './gate-finding.ts';

/**
 * The page in the portal where people approve the evaluation of a decision. If the workspace or the evaluation is unknown, it is
 * `portalUrl`.
 * @param portalUrl address of the portal, or of one of its pages
 */
export function approvalAddress({ decision, workspace }: Finding, portalUrl: string): string {
  const evaluation = decision?.evaluation_id;
  if (workspace === undefined || evaluation === undefined || evaluation === null) return portalUrl;
  const portal = portalUrl.replace(/\/w\/.*$/, '').replace(/\/+$/, '');
  return `${portal}/w/${workspace}/approvals/${evaluation}`;
}
