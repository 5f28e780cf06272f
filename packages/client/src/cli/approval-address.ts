import type { Finding } from './gate-finding.ts';

/**
 * Where people approve the evaluation of a decision: its own page in the portal. The portal alone where the service does not say in
 * which workspace it decided.
 * @param portalUrl address of the portal; one of a page in it counts as the portal's own
 */
export function approvalAddress({ decision, workspace }: Finding, portalUrl: string): string {
  const evaluation = decision?.evaluation_id;
  if (workspace === undefined || evaluation === undefined || evaluation === null) return portalUrl;
  const portal = portalUrl.replace(/\/w\/.*$/, '').replace(/\/+$/, '');
  return `${portal}/w/${workspace}/approvals/${evaluation}`;
}
