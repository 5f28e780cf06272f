import type { Finding } from './gate-finding.ts';

/**
 * The address of the portal's page where people approve the evaluation of a decision. Returns `portalUrl` unchanged if the workspace or
 * the evaluation is unknown.
 * @param portalUrl address of the portal, or of one of its pages
 */
export function approvalAddress({ decision, workspace }: Finding, portalUrl: string): string {
  const evaluation = decision?.evaluation_id;
  if (workspace === undefined || evaluation === undefined || evaluation === null) return portalUrl;
  const portal = portalUrl.replace(/\/w\/.*$/, '').replace(/\/+$/, '');
  return `${portal}/w/${workspace}/approvals/${evaluation}`;
}
