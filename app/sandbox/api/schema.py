"""Purpose: the part of GitHub's GraphQL schema that the stand-in answers, in GraphQL's own definition language.

Every type, field, argument and value here stands in GitHub's public schema with the same type; a test compares them.
"""

SCHEMA = """
scalar URI
scalar DateTime
scalar GitObjectID
scalar BigInt
scalar GitTimestamp

interface Actor { login: String! url: URI! }
interface Node { id: ID! }
interface GitObject { id: ID! oid: GitObjectID! }

type User implements Actor & Node { id: ID! login: String! url: URI! databaseId: Int }
type Bot implements Actor & Node { id: ID! login: String! url: URI! databaseId: Int }
type Organization implements Actor & Node { id: ID! login: String! url: URI! databaseId: Int }

enum PullRequestState { CLOSED MERGED OPEN }
enum MergeableState { CONFLICTING MERGEABLE UNKNOWN }
enum PatchStatus { ADDED CHANGED COPIED DELETED MODIFIED RENAMED }
enum CommentAuthorAssociation {
  COLLABORATOR CONTRIBUTOR FIRST_TIMER FIRST_TIME_CONTRIBUTOR MANNEQUIN MEMBER NONE OWNER
}
enum PullRequestReviewState { APPROVED CHANGES_REQUESTED COMMENTED DISMISSED PENDING }
enum ReactionContent { CONFUSED EYES HEART HOORAY LAUGH ROCKET THUMBS_DOWN THUMBS_UP }
enum PullRequestTimelineItemsItemType {
  CLOSED_EVENT CONVERT_TO_DRAFT_EVENT HEAD_REF_FORCE_PUSHED_EVENT LABELED_EVENT MERGED_EVENT READY_FOR_REVIEW_EVENT
  REOPENED_EVENT UNLABELED_EVENT
}

type PageInfo { endCursor: String hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String }
type RateLimit { cost: Int! limit: Int! remaining: Int! resetAt: DateTime! used: Int! }

type GitActor { date: GitTimestamp name: String user: User }
type Commit implements GitObject & Node {
  id: ID! oid: GitObjectID! message: String! authoredDate: DateTime! committedDate: DateTime! author: GitActor
  file(path: String!): TreeEntry
  history(
    after: String, before: String, first: Int, last: Int, path: String, since: GitTimestamp, until: GitTimestamp
  ): CommitHistoryConnection!
  parents(after: String, before: String, first: Int, last: Int): CommitConnection!
}
type CommitHistoryConnection { nodes: [Commit] pageInfo: PageInfo! totalCount: Int! }
type CommitConnection { nodes: [Commit] pageInfo: PageInfo! totalCount: Int! }
type Blob implements GitObject & Node {
  id: ID! oid: GitObjectID! byteSize: Int! isBinary: Boolean isTruncated: Boolean! text: String
}
type TreeEntry { name: String! path: String type: String! mode: Int! oid: GitObjectID! size: Int! object: GitObject }
type Tree implements GitObject & Node { id: ID! oid: GitObjectID! entries: [TreeEntry!] }
type Ref implements Node { id: ID! name: String! target: GitObject compare(headRef: String!): Comparison }
type Comparison implements Node { id: ID! aheadBy: Int! behindBy: Int! status: ComparisonStatus! }
enum ComparisonStatus { AHEAD BEHIND DIVERGED IDENTICAL }

type Label implements Node { id: ID! name: String! }
type LabelConnection { nodes: [Label] pageInfo: PageInfo! totalCount: Int! }
type ReactionGroup { content: ReactionContent! viewerHasReacted: Boolean! }

type IssueComment implements Node {
  id: ID! fullDatabaseId: BigInt author: Actor authorAssociation: CommentAuthorAssociation! body: String!
  createdAt: DateTime! updatedAt: DateTime! lastEditedAt: DateTime editor: Actor url: URI!
  reactionGroups: [ReactionGroup!]
}
type IssueCommentConnection { nodes: [IssueComment] pageInfo: PageInfo! totalCount: Int! }
type PullRequestReview implements Node {
  id: ID! fullDatabaseId: BigInt author: Actor authorAssociation: CommentAuthorAssociation! body: String!
  createdAt: DateTime! updatedAt: DateTime! lastEditedAt: DateTime editor: Actor url: URI!
  reactionGroups: [ReactionGroup!] state: PullRequestReviewState! submittedAt: DateTime commit: Commit
  comments(after: String, before: String, first: Int, last: Int): PullRequestReviewCommentConnection!
}
type PullRequestReviewConnection { nodes: [PullRequestReview] pageInfo: PageInfo! totalCount: Int! }
type PullRequestReviewComment implements Node {
  id: ID! fullDatabaseId: BigInt author: Actor authorAssociation: CommentAuthorAssociation! body: String!
  createdAt: DateTime! updatedAt: DateTime! lastEditedAt: DateTime editor: Actor url: URI!
  reactionGroups: [ReactionGroup!] path: String! line: Int originalCommit: Commit
}
type PullRequestReviewCommentConnection { nodes: [PullRequestReviewComment] pageInfo: PageInfo! totalCount: Int! }

type LabeledEvent implements Node { id: ID! createdAt: DateTime! actor: Actor label: Label! }
type UnlabeledEvent implements Node { id: ID! createdAt: DateTime! actor: Actor label: Label! }
type HeadRefForcePushedEvent implements Node {
  id: ID! createdAt: DateTime! actor: Actor beforeCommit: Commit afterCommit: Commit
}
type ReadyForReviewEvent implements Node { id: ID! createdAt: DateTime! actor: Actor }
type ConvertToDraftEvent implements Node { id: ID! createdAt: DateTime! actor: Actor }
type ClosedEvent implements Node { id: ID! createdAt: DateTime! actor: Actor }
type ReopenedEvent implements Node { id: ID! createdAt: DateTime! actor: Actor }
type MergedEvent implements Node { id: ID! createdAt: DateTime! actor: Actor commit: Commit }
union PullRequestTimelineItems =
  | LabeledEvent | UnlabeledEvent | HeadRefForcePushedEvent | ReadyForReviewEvent | ConvertToDraftEvent | ClosedEvent
  | ReopenedEvent | MergedEvent
type PullRequestTimelineItemsConnection {
  nodes: [PullRequestTimelineItems] pageInfo: PageInfo! totalCount: Int! filteredCount: Int!
}

type PullRequestChangedFile { path: String! changeType: PatchStatus! additions: Int! deletions: Int! }
type PullRequestChangedFileConnection { nodes: [PullRequestChangedFile] pageInfo: PageInfo! totalCount: Int! }
type PullRequestCommit implements Node { id: ID! commit: Commit! }
type PullRequestCommitConnection { nodes: [PullRequestCommit] pageInfo: PageInfo! totalCount: Int! }

type PullRequest implements Node {
  id: ID! fullDatabaseId: BigInt number: Int! url: URI! state: PullRequestState! isDraft: Boolean! title: String!
  body: String! createdAt: DateTime! updatedAt: DateTime! closedAt: DateTime mergedAt: DateTime mergedBy: Actor
  author: Actor authorAssociation: CommentAuthorAssociation! editor: Actor lastEditedAt: DateTime
  baseRefName: String! baseRefOid: GitObjectID! baseRef: Ref headRefName: String! headRefOid: GitObjectID!
  isCrossRepository: Boolean! headRepository: Repository mergeable: MergeableState! mergeCommit: Commit
  changedFiles: Int!
  labels(after: String, before: String, first: Int, last: Int): LabelConnection
  commits(after: String, before: String, first: Int, last: Int): PullRequestCommitConnection!
  files(after: String, before: String, first: Int, last: Int): PullRequestChangedFileConnection
  comments(after: String, before: String, first: Int, last: Int): IssueCommentConnection!
  reviews(after: String, before: String, first: Int, last: Int): PullRequestReviewConnection
  timelineItems(
    after: String, before: String, first: Int, itemTypes: [PullRequestTimelineItemsItemType!], last: Int
  ): PullRequestTimelineItemsConnection!
}

type Repository implements Node {
  id: ID! databaseId: Int nameWithOwner: String! defaultBranchRef: Ref
  ref(qualifiedName: String!): Ref
  object(expression: String, oid: GitObjectID): GitObject
  pullRequest(number: Int!): PullRequest
}

type Query {
  node(id: ID!): Node
  rateLimit: RateLimit
  viewer: User!
  repository(followRenames: Boolean = true, name: String!, owner: String!): Repository
}
"""
