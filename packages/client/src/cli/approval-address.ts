import type { Finding } from './gate-finding.ts';

/**
 * The page in the portal where people approve the evaluation of a decision. If the service does not report its workspace, this is the
 * start page of the portal.
 * @param portalUrl address of the portal; the address of one of its pages works too
 */
export function approvalAddress({ decision, workspace }: Finding, portalUrl: string): string {
  const evaluation = decision?.evaluation_id;
  if (workspace === undefined || evaluation === undefined || evaluation === null) return portalUrl;
  const portal = portalUrl.replace(/\/w\/.*$/, '').replace(/\/+$/, '');
  return `${portal}/w/${workspace}/approvals/${evaluation}`;
}
