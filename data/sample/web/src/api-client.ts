/**
 * The dashboard's view of the server: types of the JSON API and a typed client.
 */

export type JobState = 'queued' | 'running' | 'done' | 'dead' | 'cancelled';

/** A job as `GET /api/jobs` sends it; the payload is left out unless the server shows it. */
export interface Job {
  readonly id: string;
  readonly task: string;
  readonly queue: string;
  readonly state: JobState;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly runAt: number;
  readonly updatedAt: number;
  readonly lastError: string | null;
  readonly payload?: string;
}

/** The answer of `GET /api/stats`. */
export interface Stats {
  counts: Record<JobState, number>;
  backlog: number;
}

/** One page of a list. */
export interface Page<T> {
  items: T[];
  limit: number;
  offset: number;
}

export interface ClientOptions {
  baseUrl?: string;
  /** Sent as X-Ferry-Token. */
  token?: string;
  fetch?: typeof fetch;
}

/** An answer other than 2xx. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = 'ApiError';
  }

  /** Whether asking again may help: server errors and 429 do, a wrong token does not. */
  get retryable(): boolean {
    return this.status >= 500 || this.status === 429;
  }
}

/** A collection of things of one type under one path. */
export abstract class Resource<T extends { id: string }> {
  protected abstract readonly path: string;

  constructor(protected readonly client: ApiClient) {}

  /** A page of the collection, newest first. */
  list(query: Record<string, string | number> = {}): Promise<Page<T>> {
    const search = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)]));
    return this.client.request<Page<T>>('GET', `${this.path}?${search}`);
  }
}

export class JobResource extends Resource<Job> {
  protected readonly path = '/api/jobs';

  /** Queues a dead job again. A 409 means that it is not dead any more. */
  async retry(id: string): Promise<boolean> {
    const path = `${this.path}/${encodeURIComponent(id)}/retry`;
    const answer = await this.client.request<{ revived: boolean }>('POST', path, { accept: [409] });
    return answer.revived;
  }
}

export class ApiClient {
  readonly jobs = new JobResource(this);

  constructor(private readonly options: ClientOptions = {}) {}

  stats(): Promise<Stats> {
    return this.request<Stats>('GET', '/api/stats');
  }

  /** Sends a request and returns its JSON; any status outside 2xx and `accept` is an ApiError. */
  async request<R>(method: 'GET' | 'POST', path: string, { accept = [] as number[] } = {}): Promise<R> {
    const { baseUrl = '', token } = this.options;
    const send = this.options.fetch ?? fetch;
    const headers: Record<string, string> = token ? { 'X-Ferry-Token': token } : {};
    const response = await send(baseUrl + path, { method, headers });
    if (!response.ok && !accept.includes(response.status)) {
      throw new ApiError(response.status, `${method} ${path} answered ${response.status}`);
    }
    return (await response.json()) as R;
  }
}
